/* SPDX-License-Identifier: Apache-2.0 */
#include "read/text/ftrace_html.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

enum { HEAD_MAX = 1 << 16 }; /* bytes of an element that are checked for a trace */

bool ftrace_html_matches(const char *head, size_t size)
{
	static const char *const prefixes[] = { "<!doctype html", "<html", "<!-- saved from " };
	const char *end = head + size;

	if (size >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0) /* byte order mark */
		head += 3;
	while (head < end && strchr(" \t\r\n", *head) && *head)
		head++;
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if ((size_t)(end - head) >= strlen(prefixes[i]) &&
		    strncasecmp(head, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

/* Moves *rest after the next occurrence of the text; false if there is none. */
static bool skip_to(struct view *rest, const char *text, struct view *ret_before)
{
	const char *found = memmem(rest->s, rest->len, text, strlen(text));

	if (!found)
		return false;
	*ret_before = (struct view){ rest->s, found - rest->s };
	rest->len -= ret_before->len + strlen(text);
	rest->s = found + strlen(text);
	return true;
}

/* The content of the next trace-data element; up to the end if its end tag is missing. */
static bool next_element(struct view *rest, struct view *ret)
{
	struct view before;

	if (!skip_to(rest, "class=\"trace-data\"", &before) || !skip_to(rest, ">", &before))
		return false;
	if (!skip_to(rest, "</script>", ret)) {
		*ret = *rest;
		rest->len = 0;
	}
	return true;
}

/* Concatenates all elements with a trace; only computes the size if `to` is NULL. */
static size_t join_elements(struct view page, ftrace_html_is_trace *is_trace, char *to,
			    struct view *ret_last)
{
	struct view element;
	size_t size = 0;

	while (next_element(&page, &element)) {
		if (!is_trace(element.s, element.len < HEAD_MAX ? element.len : HEAD_MAX))
			continue;
		if (to)
			memcpy(to + size, element.s, element.len);
		size += element.len;
		*ret_last = element;
	}
	return size;
}

/* Copies the elements only if there are several. */
static bool take_elements(struct text_lines *lines, ftrace_html_is_trace *is_trace,
			  struct view *ret)
{
	struct view page = lines->text, last = { 0 };
	size_t size = join_elements(page, is_trace, NULL, &last);

	if (size != last.len) {
		lines->joined = must_alloc(size);
		join_elements(page, is_trace, lines->joined, &last);
		last = (struct view){ lines->joined, size };
	}
	*ret = last;
	return size > 0;
}

/* A JavaScript string: its lines end with \n and a continuation. */
static bool take_string(struct text_lines *lines, struct view page, struct view *ret)
{
	struct view before, text;

	if (!skip_to(&page, "linuxPerfData = \"", &before) || !skip_to(&page, "\";", &text))
		return false;

	char *to = lines->joined = must_alloc(text.len + 1);

	for (size_t i = 0; i < text.len; i++) {
		if (text.s[i] != '\\' || i + 1 == text.len) {
			*to++ = text.s[i];
			continue;
		}
		i++;
		if (text.s[i] == 'n')
			*to++ = '\n';
		else if (text.s[i] != '\n')
			*to++ = text.s[i];
	}
	*ret = (struct view){ lines->joined, to - lines->joined };
	return true;
}

int ftrace_html_extract(struct text_lines *lines, const char *name, ftrace_html_is_trace *is_trace,
			struct err *err)
{
	struct view all, before;

	if (!take_elements(lines, is_trace, &all) && !take_string(lines, lines->text, &all)) {
		bool is_compressed = skip_to(&lines->text, "id=\"viewer-data\"", &before);

		return err_set(
			err, -ENOTSUP,
			is_compressed
				? "cannot read '%s': the compressed trace of a catapult page is "
				  "not supported; pass the original trace"
				: "cannot read '%s': HTML without a systrace trace",
			name);
	}
	lines->text = all;
	return 0;
}

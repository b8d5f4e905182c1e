/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_text [-b|-n] TRACE - prints all events of a CTF trace as `babeltrace2 --clock-cycles
 * --no-delta` does, for a comparison byte by byte.
 *
 * -b reads through libbabeltrace2, -n only counts the events and prints how many there are.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/out.h"
#include "read/ctf/ctf.h"
#include "read/ctf/babeltrace.h"

static struct out out;

struct printing {
	unsigned depth;
	bool is_array[64];
	unsigned counts[64]; /* number of items at each depth */
};

/* The text before an item: a comma, and its name or number. */
static void print_name(struct printing *p, const char *name)
{
	unsigned i = p->counts[p->depth]++;

	if (p->depth == 0) {
		out_str(&out, i ? ", " : " ");
		return;
	}
	out_str(&out, i ? ", " : " ");
	if (p->is_array[p->depth]) {
		out_char(&out, '[');
		out_u64(&out, i);
		out_str(&out, "] = ");
	} else if (name) {
		out_str(&out, name);
		out_str(&out, " = ");
	}
}

static void print_number(void *arg, const char *name, int64_t n)
{
	print_name(arg, name);
	out_i64(&out, n);
}

static void print_unsigned(void *arg, const char *name, uint64_t n, int base)
{
	char text[32];

	print_name(arg, name);
	if (base == 10) {
		out_u64(&out, n);
		return;
	}
	snprintf(text, sizeof(text), base == 16 ? "0x%" PRIX64 : "0%" PRIo64, n);
	out_str(&out, text);
}

static void print_real(void *arg, const char *name, double n)
{
	char text[64];

	print_name(arg, name);
	snprintf(text, sizeof(text), "%g", n);
	out_str(&out, text);
}

static void print_escaped(const char *s, size_t len)
{
	static const char from[] = "\a\b\033\f\n\r\t\v\\'\"?", to[] = "abefnrtv\\'\"?";

	for (size_t i = 0; i < len; i++) {
		const char *found = s[i] ? strchr(from, s[i]) : NULL;

		if (found) {
			out_char(&out, '\\');
			out_char(&out, to[found - from]);
		} else {
			out_char(&out, s[i]);
		}
	}
}

static void print_text(void *arg, const char *name, const char *s, size_t len)
{
	print_name(arg, name);
	out_char(&out, '"');
	print_escaped(s, len);
	out_char(&out, '"');
}

static void print_word(void *arg, const char *name, int64_t n, bool is_signed, const char *word)
{
	print_name(arg, name);
	if (word[0]) {
		out_str(&out, "( \"");
		print_escaped(word, strlen(word));
		out_str(&out, "\" : container = ");
	} else {
		out_str(&out, "( <unknown> : container = ");
	}
	if (is_signed)
		out_i64(&out, n);
	else
		out_u64(&out, n);
	out_str(&out, " )");
}

static void print_begin(void *arg, const char *name, bool is_array)
{
	struct printing *p = arg;

	print_name(p, name);
	p->depth++;
	p->is_array[p->depth] = is_array;
	p->counts[p->depth] = 0;
	out_char(&out, is_array ? '[' : '{');
}

static void print_end(void *arg)
{
	struct printing *p = arg;

	out_str(&out, p->is_array[p->depth] ? " ]" : " }");
	p->depth--;
}

static const struct raw_visitor visitor = {
	print_number, print_unsigned, print_real, print_text, print_word, print_begin, print_end,
};

static void print_event(struct raw_source *source, const struct raw_event *event)
{
	struct printing p = { 0 };

	out_char(&out, '[');
	out_u64_wide(&out, event->time, 20, '0');
	out_str(&out, "] ");
	if (source->host) {
		out_str(&out, source->host);
		out_char(&out, ' ');
	}
	out_str(&out, source->name(source));
	out_char(&out, ':');
	source->fields(source, &visitor, &p);
	out_char(&out, '\n');
}

static int open_trace(const char *path, bool by_babeltrace, struct raw_source **ret,
		      struct err *err)
{
	struct file_set files = { 0 };

	if (by_babeltrace)
		return ctf_babeltrace_new(path, ret, err);

	int code = ctf_find_traces(path, &files, err);

	if (code < 0)
		file_set_done(&files);
	return code < 0 ? code : ctf_source_new(path, &files, ret, err);
}

int main(int argc, char **argv)
{
	bool by_babeltrace = argc > 2 && strcmp(argv[1], "-b") == 0;
	bool is_quiet = argc > 2 && strcmp(argv[1], "-n") == 0;
	struct raw_source *source = NULL;
	struct err err = { "asked to" };
	struct raw_event event;
	uint64_t count = 0;
	int code;

	out_init(&out, stdout);
	if (open_trace(argv[argc - 1], by_babeltrace, &source, &err) < 0) {
		fprintf(stderr, "ctf_text: %s\n", err.text);
		return 1;
	}
	while ((code = source->next(source, &event, &err)) > 0) {
		count += event.kind != RAW_LOST;
		if (event.kind != RAW_LOST && !is_quiet)
			print_event(source, &event);
	}
	if (code < 0 || source->warning)
		fprintf(stderr, "ctf_text: %s\n", code < 0 ? err.text : source->warning);
	if (is_quiet)
		printf("%" PRIu64 "\n", count);
	out_flush(&out);
	source->free(source);
	return code < 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/endpoint_headers.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "relay/percent.h"

static struct view trim(struct view v)
{
	while (v.len && isspace((unsigned char)v.s[0])) {
		v.s++;
		v.len--;
	}
	while (v.len && isspace((unsigned char)v.s[v.len - 1]))
		v.len--;
	return v;
}

/* A token of RFC 9110. */
static bool is_name(struct view v)
{
	for (size_t i = 0; i < v.len; i++)
		if (!isalnum((unsigned char)v.s[i]) &&
		    (!v.s[i] || !strchr("!#$%&'*+-.^_`|~", v.s[i])))
			return false;
	return v.len;
}

/* A decoded line break would start another header. */
static bool is_value(struct view v)
{
	for (size_t i = 0; i < v.len; i++)
		if (((unsigned char)v.s[i] < ' ' && v.s[i] != '\t') || v.s[i] == 0x7f)
			return false;
	return true;
}

/* Headers that the protocol sets. */
static bool is_reserved(struct view name)
{
	static const char *const reserved[] = {
		"connection",   "content-encoding", "content-length",
		"content-type", "grpc-encoding",    "grpc-timeout",
		"te",           "transfer-encoding"
	};

	for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
		if (strlen(reserved[i]) == name.len &&
		    strncasecmp(reserved[i], name.s, name.len) == 0)
			return true;
	return false;
}

static const char *add_header(struct view item, struct endpoint *ret)
{
	const char *equals = memchr(item.s, '=', item.len);

	if (!equals)
		return "has no '='";

	struct view name = trim((struct view){ item.s, equals - item.s });
	struct view value = trim((struct view){ equals + 1, item.s + item.len - equals - 1 });
	_cleanup_(freep) char *decoded = must_alloc(value.len + 1);

	value = (struct view){ decoded, percent_decode(value, decoded) };
	if (!is_name(name))
		return "has an invalid name";
	if (!is_value(value))
		return "contains control characters";
	if (is_reserved(name))
		return "belongs to the protocol and cannot be set";
	/* curl takes "name:" as an order to send no such header */
	*vec_push(&ret->headers) =
		must_printf(value.len ? "%.*s: %s" : "%.*s;%s", (int)name.len, name.s, decoded);
	return NULL;
}

int endpoint_headers_parse(const char *text, const char *name, struct endpoint *ret,
			   struct err *err)
{
	for (size_t number = 1; *text; number++) {
		size_t len = strcspn(text, ",");
		struct view item = trim((struct view){ text, len });
		const char *why = item.len ? add_header(item, ret) : NULL;

		if (why)
			return err_set(err, -EINVAL, "header %zu in %s %s", number, name, why);
		text += len + (text[len] == ',');
	}
	return 0;
}

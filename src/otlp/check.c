/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the bytes, driven by the schema.  Only AnyValue contains itself, and its depth is
 * limited, so the recursion is at most a few messages per level of values deep.
 */
#include "otlp/check.h"

#include <inttypes.h>

#include "base/out.h"
#include "otlp/schema.h"

struct checker {
	const char *start; /* of the request */
	struct otlp_totals totals;
	struct err *err;
};

static int refuse(struct checker *c, const struct schema_message *m, const struct schema_field *f,
		  const void *at, const char *why)
{
	return err_set(c->err, -EBADMSG, "malformed %s%s%s at offset %zu: %s", m->name,
		       f ? "." : "", f ? f->name : "", (size_t)((const char *)at - c->start), why);
}

static bool is_packed_valid(const struct schema_field *field, struct view bytes)
{
	const uint8_t *at = (const uint8_t *)bytes.s, *end = at + bytes.len;
	uint64_t n;

	switch (field->type & 7) {
	case PB_FIXED64:
		return bytes.len % 8 == 0;
	case PB_FIXED32:
		return bytes.len % 4 == 0;
	default:
		while (at && at < end)
			at = pb_varint(at, end, &n);
		return at;
	}
}

static int check_message(struct checker *c, const struct schema_message *m, struct view bytes,
			 unsigned int depth);

/* A string, id, bytes or message. */
static inline int check_bytes(struct checker *c, const struct schema_message *m,
			      const struct schema_field *field, struct view bytes,
			      unsigned int depth)
{
	switch (field->type) {
	case SCHEMA_STRING:
		return utf8_is_valid(bytes.s, bytes.len)
			       ? 0
			       : refuse(c, m, field, bytes.s, "invalid UTF-8");
	case SCHEMA_ID:
		return bytes.len == field->id_size || bytes.len == 0
			       ? 0
			       : refuse(c, m, field, bytes.s, "wrong length of an id");
	case SCHEMA_MESSAGE:
		return check_message(c, field->message, bytes, depth);
	default:
		return 0;
	}
}

static int check_other_type(struct checker *c, const struct schema_message *m,
			    const struct schema_field *field, const struct pb_field *f,
			    const uint8_t *at)
{
	if (!field->is_list || (f->tag & 7) != PB_BYTES)
		return refuse(c, m, field, at, "wrong type");
	return is_packed_valid(field, f->bytes)
		       ? 0
		       : refuse(c, m, field, f->bytes.s, "invalid list of numbers");
}

/* `depth` is the number of values around this message. */
static int check_message(struct checker *c, const struct schema_message *m, struct view bytes,
			 unsigned int depth)
{
	struct pb_reader pb = pb_reader_of(bytes);
	struct pb_field f = { 0 };
	int r;

	if (m->is_value && ++depth > OTLP_VALUE_DEPTH)
		return refuse(c, m, NULL, bytes.s, "values are nested too deeply");
	c->totals.items += m->is_item;
	for (const uint8_t *at = pb.at; (r = pb_next(&pb, &f)) > 0; at = pb.at) {
		if (f.tag >> 3 >= m->count)
			continue;

		const struct schema_field *field = &m->fields[f.tag >> 3];

		if (!field->name)
			continue;
		if ((f.tag & 7) != (field->type & 7u))
			r = check_other_type(c, m, field, &f, at);
		else if ((f.tag & 7) == PB_BYTES)
			r = check_bytes(c, m, field, f.bytes, depth);
		if (r < 0)
			return r;
	}
	return r < 0 ? refuse(c, m, NULL, pb.at, "invalid or truncated field") : 0;
}

int otlp_check(enum otlp_signal signal, struct view request, struct otlp_totals *ret,
	       struct err *err)
{
	struct checker c = { .start = request.s, .err = err };
	int r = check_message(&c, otlp_requests[signal], request, 0);

	if (r == 0)
		*ret = c.totals;
	return r;
}

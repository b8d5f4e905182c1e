/* SPDX-License-Identifier: Apache-2.0 */
/* Probe events: the fields of a tracepoint, under the kernel's names. */
#include "report/describe.h"

static void describe_bytes(struct fields *f, const struct probe_value *v)
{
	char hex[2 * 256 * 8]; /* the maximum size of a record */
	size_t len = 0;

	for (size_t i = 0; i < v->len; i++) {
		unsigned char c = v->bytes[i];
		hex[len++] = "0123456789abcdef"[c >> 4];
		hex[len++] = "0123456789abcdef"[c & 15];
	}
	field_str_n(f, v->name, "=", hex, len);
}

static void describe_value(struct fields *f, const struct probe_value *v)
{
	field_str(f, NULL, "  ", v->name);
	switch (v->type) {
	case PROBE_SIGNED:
		return field_i64(f, v->name, "=", v->number);
	case PROBE_UNSIGNED:
		return field_u64(f, v->name, "=", v->number);
	case PROBE_POINTER:
		return field_hex(f, v->name, "=", v->number);
	case PROBE_STRING:
		return field_str_n(f, v->name, "=", v->bytes, v->len);
	case PROBE_BYTES:
		return describe_bytes(f, v);
	}
}

void describe_probe_event(const struct describer *d, const struct record_probe_event *r)
{
	struct fields *f = d->fields;
	const struct probe_name *probe = name_table_probe(d->names, d->source, r->type);
	struct probe_value value;
	char number[32];

	snprintf(number, sizeof(number), "unknown:%u", r->type);
	field_str(f, "event", "  ", probe ? probe->event : number);
	if (probe && !probe_format_count(probe->format) && r->size) { /* from a text trace */
		field_str_n(f, "text", "  ", (const char *)r->data, r->size);
		return;
	}
	field_object(f, "fields");
	for (size_t i = 0; probe && i < probe_format_count(probe->format); i++)
		if (probe_format_value(probe->format, i, r->data, r->size, &value))
			describe_value(f, &value);
	field_end(f);
}

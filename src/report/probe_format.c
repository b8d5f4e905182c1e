/* SPDX-License-Identifier: Apache-2.0 */
#include "report/probe_format.h"

#include <string.h>

#include "event/tracepoint.h"

struct probe_format {
	struct tracepoint tracepoint; /* without the common fields */
};

struct probe_format *probe_format_new(const char *text)
{
	struct probe_format *format = must_alloc(sizeof(*format));
	struct tracepoint *t = &format->tracepoint;
	size_t count = 0;

	tracepoint_init(t, text, strlen(text), sizeof(long));
	for (size_t i = 0; i < t->fields.count; i++)
		if (!t->fields.items[i].is_common)
			t->fields.items[count++] = t->fields.items[i];
	t->fields.count = count;
	return format;
}

void probe_format_free(struct probe_format *format)
{
	if (!format)
		return;
	tracepoint_done(&format->tracepoint);
	free(format);
}

size_t probe_format_count(const struct probe_format *format)
{
	return format->tracepoint.fields.count;
}

static enum probe_value_type type_of(const struct tracepoint_field *field)
{
	if (field->is_text)
		return PROBE_STRING;
	if (!tracepoint_is_number(field))
		return PROBE_BYTES;
	return field->is_pointer ? PROBE_POINTER : field->is_signed ? PROBE_SIGNED : PROBE_UNSIGNED;
}

bool probe_format_value(const struct probe_format *format, size_t i, const void *data, size_t size,
			struct probe_value *ret)
{
	const struct tracepoint_field *field = &format->tracepoint.fields.items[i];
	struct probe_value value = { .name = field->name, .type = type_of(field) };
	struct tracepoint_bytes bytes;

	if (!tracepoint_locate(field, data, size, false, &bytes))
		return false;
	value.bytes = bytes.at;
	value.len = bytes.len;
	if (value.type == PROBE_STRING)
		value.len = strnlen(bytes.at, bytes.len);
	else if (value.type != PROBE_BYTES && bytes.len < field->size)
		return false;
	else if (value.type != PROBE_BYTES)
		value.number = tracepoint_number(bytes.at, field->size, field->is_signed, false);
	*ret = value;
	return true;
}

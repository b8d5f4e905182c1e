/* SPDX-License-Identifier: Apache-2.0 */
#include "read/raw/kernel_format.h"

#include <string.h>

/* How to copy a field to struct raw_event. */
enum binding_kind {
	BIND_COPY4, /* the most common integers: copy 4 bytes */
	BIND_COPY8,
	BIND_COPY24,  /* three 64-bit integers */
	BIND_NUMBER,  /* other sizes or byte order */
	BIND_NUMBERS, /* as many integers as fit */
	BIND_TEXT,
	BIND_BYTES,
	BIND_LOCATED, /* text at an offset that the field contains */
};

struct kernel_binding {
	uint32_t offset, end; /* in the data of the event */
	uint16_t target;      /* offset in struct raw_event */
	uint8_t room;         /* size of the member, in bytes */
	uint8_t kind;         /* enum binding_kind */
	uint8_t element;      /* size of an integer, in bytes */
	bool is_signed;
	uint32_t field; /* index in the fields of the tracepoint */
};

static const bool little_endian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

static enum binding_kind number_kind(const struct kernel_format *format, size_t room, size_t size)
{
	/* in little-endian order, a shorter integer is a prefix of a longer one */
	bool as_is = !format->abi.swap && (size == room || (little_endian && size > room));

	if (as_is && room == 4)
		return BIND_COPY4;
	if (as_is && room == 8)
		return BIND_COPY8;
	return BIND_NUMBER;
}

/* Binds a field to a member; false if the types do not match. */
static bool bind(struct kernel_format *format, const struct raw_field *want, size_t index)
{
	const struct tracepoint_field *field = &format->tracepoint.fields.items[index];
	struct kernel_binding b = {
		.offset = field->offset,
		.end = field->offset + field->size,
		.target = want->offset,
		.room = want->size,
		.element = field->is_array ? field->element : field->size,
		.is_signed = field->is_signed,
		.field = index,
	};

	if (b.end < b.offset)
		return false;
	if (want->type == RAW_NUMBER && tracepoint_is_number(field))
		b.kind = number_kind(format, want->size, field->size);
	else if (want->type == RAW_TEXT && field->is_text)
		b.kind = field->location == TRACEPOINT_INLINE ? BIND_TEXT : BIND_LOCATED;
	else if (field->location != TRACEPOINT_INLINE || !field->is_array || field->is_text)
		return false;
	else if (want->type == RAW_NUMBERS && field->element)
		b.kind = field->element == 8 && !format->abi.swap && want->size == 24 &&
					 field->size >= 24
				 ? BIND_COPY24
				 : BIND_NUMBERS;
	else if (want->type == RAW_ADDRESS && (field->size == 4 || field->size == 16))
		b.kind = BIND_BYTES;
	else
		return false;
	format->bindings[format->count++] = b;
	return true;
}

static void bind_named(struct kernel_format *format, const struct raw_field *want)
{
	for (const char *name = want->names; *name;) {
		size_t len = strcspn(name, " ");

		for (size_t i = 0; i < format->tracepoint.fields.count; i++) {
			const char *s = format->tracepoint.fields.items[i].name;

			if (strncmp(s, name, len) == 0 && !s[len] && bind(format, want, i))
				return;
		}
		name += len;
		name += *name == ' ';
	}
}

/* Binds the arguments of a system call that has its own tracepoint. */
static void bind_args(struct kernel_format *format)
{
	enum { ARGS = 3 };
	struct raw_field want = { .size = 8, .type = RAW_NUMBER };
	size_t n = 0;

	for (size_t i = 0; i < format->tracepoint.fields.count && n < ARGS; i++) {
		const struct tracepoint_field *field = &format->tracepoint.fields.items[i];

		if (field->is_common || strcmp(field->name, "__syscall_nr") == 0)
			continue;
		want.offset = offsetof(struct raw_event, syscall.args) + 8 * n;
		n += bind(format, &want, i);
	}
}

/* Bits of common_flags. */
enum { FLAG_IRQ = 8, FLAG_SOFTIRQ = 16, FLAG_NMI = 64 };

static void bind_context(struct kernel_format *format)
{
	for (size_t i = 0; i < format->tracepoint.fields.count; i++) {
		const struct tracepoint_field *field = &format->tracepoint.fields.items[i];

		if (strcmp(field->name, "common_flags") == 0 && field->size == 1)
			format->flags_at = field->offset;
	}
}

static uint8_t context_of(uint8_t flags)
{
	return flags & (FLAG_IRQ | FLAG_NMI) ? RAW_IN_IRQ
	       : flags & FLAG_SOFTIRQ        ? RAW_IN_SOFTIRQ
					     : RAW_IN_TASK;
}

static bool has_call_number(const struct raw_field *field)
{
	return field->offset == offsetof(struct raw_event, syscall.nr);
}

static void bind_layout(struct kernel_format *format)
{
	static const struct raw_field thread = { "common_pid", offsetof(struct raw_event, tid), 4,
						 RAW_NUMBER };
	const char *name = format->tracepoint.name;
	int nr;
	const struct raw_layout *layout = raw_layout_find(RAW_KERNEL, name, strlen(name), &nr);
	enum raw_kind kind = layout ? layout->kind : RAW_OTHER;
	bool is_call = kind == RAW_SYSCALL_ENTER || kind == RAW_SYSCALL_EXIT;

	format->bindings = must_alloc((RAW_FIELDS + 4) * sizeof(format->bindings[0]));
	format->blank = raw_event_empty(kind);
	format->blank.type = format->tracepoint.id;
	bind_context(format);
	bind_named(format, &thread);
	for (size_t i = 0; layout && i < RAW_FIELDS && layout->fields[i].names; i++)
		if (!is_call || !has_call_number(&layout->fields[i]) ||
		    !format->abi.foreign_syscalls)
			bind_named(format, &layout->fields[i]);
	if (!is_call || nr == SYSCALL_NONE)
		return;
	format->blank.syscall.nr = nr;
	if (kind == RAW_SYSCALL_ENTER)
		bind_args(format);
}

struct kernel_format *kernel_format_new(const char *system, const char *text, size_t len,
					struct kernel_abi abi)
{
	_cleanup_(kernel_format_freep) struct kernel_format *format = must_alloc(sizeof(*format));

	format->abi = abi;
	tracepoint_init(&format->tracepoint, text, len, abi.long_size);
	if (!format->tracepoint.name[0])
		return NULL;
	len = strnlen(text, len);
	format->text = must_alloc(len + 1);
	memcpy(format->text, text, len);
	format->full_name =
		must_printf("%s%s%s", system, system[0] ? ":" : "", format->tracepoint.name);
	bind_layout(format);
	return TAKE(format);
}

void kernel_format_free(struct kernel_format *format)
{
	if (!format)
		return;
	tracepoint_done(&format->tracepoint);
	free(format->full_name);
	free(format->text);
	free(format->bindings);
	free(format);
}

static void put_text(char *to, const char *s, size_t len)
{
	struct raw_text text = { s, strnlen(s, len) };

	memcpy(to, &text, sizeof(text));
}

static void put_numbers(const struct kernel_format *format, const struct kernel_binding *b,
			const char *from, char *to)
{
	size_t count = (b->end - b->offset) / b->element;

	for (size_t i = 0; i < count && 8 * (i + 1) <= b->room; i++)
		raw_store_number(to + 8 * i, 8,
				 tracepoint_number(from + b->element * i, b->element, b->is_signed,
						   format->abi.swap));
}

/* The less common kinds. */
static void put_other(const struct kernel_format *format, const struct kernel_binding *b,
		      const char *data, size_t size, char *to)
{
	const char *from = data + b->offset;
	size_t len = b->end - b->offset;
	struct tracepoint_bytes bytes;

	switch (b->kind) {
	case BIND_NUMBER:
		raw_store_number(to, b->room,
				 tracepoint_number(from, b->element, b->is_signed,
						   format->abi.swap));
		break;
	case BIND_NUMBERS:
		put_numbers(format, b, from, to);
		break;
	case BIND_BYTES:
		memcpy(to, from, len < b->room ? len : b->room);
		break;
	case BIND_LOCATED:
		if (tracepoint_locate(&format->tracepoint.fields.items[b->field], data, size,
				      format->abi.swap, &bytes))
			put_text(to, bytes.at, bytes.len);
		break;
	}
}

void kernel_format_decode(const struct kernel_format *format, const void *data, size_t size,
			  struct raw_event *ret)
{
	const struct kernel_binding *end = format->bindings + format->count;

	*ret = format->blank;
	if (format->flags_at && format->flags_at < size)
		ret->context = context_of(((const uint8_t *)data)[format->flags_at]);
	for (const struct kernel_binding *b = format->bindings; b < end; b++) {
		const char *from = (const char *)data + b->offset;
		char *to = (char *)ret + b->target;

		if (b->end > size)
			continue;
		if (b->kind == BIND_COPY4)
			memcpy(to, from, 4);
		else if (b->kind == BIND_COPY8)
			memcpy(to, from, 8);
		else if (b->kind == BIND_TEXT)
			put_text(to, from, b->end - b->offset);
		else if (b->kind == BIND_COPY24)
			memcpy(to, from, 24);
		else
			put_other(format, b, data, size, to);
	}
}

static void visit_number(const struct raw_visitor *visitor, void *arg, const char *name, uint64_t n,
			 const struct tracepoint_field *field)
{
	if (field->is_signed)
		visitor->number(arg, name, n);
	else
		visitor->unsigned_number(arg, name, n, field->is_pointer ? 16 : 10);
}

/* Fields of unknown element type, such as structs, are arrays of bytes. */
static void visit_array(const struct kernel_format *format, const struct tracepoint_field *field,
			const struct tracepoint_bytes *bytes, const struct raw_visitor *visitor,
			void *arg)
{
	static const struct tracepoint_field byte = { 0 };
	const struct tracepoint_field *type = field->element ? field : &byte;
	size_t size = field->element ? field->element : 1;

	visitor->begin(arg, field->name, true);
	for (size_t at = 0; at + size <= bytes->len; at += size)
		visit_number(visitor, arg, NULL,
			     tracepoint_number(bytes->at + at, size, type->is_signed,
					       format->abi.swap),
			     type);
	visitor->end(arg);
}

void kernel_format_visit(const struct kernel_format *format, const void *data, size_t size,
			 const struct raw_visitor *visitor, void *arg)
{
	for (size_t i = 0; i < format->tracepoint.fields.count; i++) {
		const struct tracepoint_field *field = &format->tracepoint.fields.items[i];
		struct tracepoint_bytes bytes;

		if (!tracepoint_locate(field, data, size, format->abi.swap, &bytes))
			continue;
		if (field->is_text)
			visitor->text(arg, field->name, bytes.at, strnlen(bytes.at, bytes.len));
		else if (!tracepoint_is_number(field))
			visit_array(format, field, &bytes, visitor, arg);
		else if (bytes.len == field->size)
			visit_number(visitor, arg, field->name,
				     tracepoint_number(bytes.at, field->size, field->is_signed,
						       format->abi.swap),
				     field);
	}
}

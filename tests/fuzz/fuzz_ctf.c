/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: the metadata of a trace, a NUL, and one stream.  The reader returns events
 * sorted by time whose fields are readable, or an error message.
 */
#include <assert.h>
#include <string.h>

#include "read/ctf/ctf.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

enum { EVENTS = 20000 }; /* limit: a small stream can contain very many events */

static volatile uint64_t sum; /* prevents the compiler from removing reads */
static unsigned depth;

static void add_bytes(const char *s, size_t len)
{
	for (size_t i = 0; s && i < len; i++)
		sum += s[i];
}

static void add_name(const char *name)
{
	add_bytes(name, name ? strlen(name) : 0);
}

static void on_number(void *arg, const char *name, int64_t n)
{
	add_name(name);
}

static void on_unsigned(void *arg, const char *name, uint64_t n, int base)
{
	assert(base == 2 || base == 8 || base == 10 || base == 16);
	add_name(name);
}

static void on_real(void *arg, const char *name, double n)
{
	add_name(name);
}

static void on_text(void *arg, const char *name, const char *s, size_t len)
{
	add_name(name);
	add_bytes(s, len);
}

static void on_label(void *arg, const char *name, int64_t n, bool is_signed, const char *label)
{
	add_name(name);
	add_name(label);
}

static void on_begin(void *arg, const char *name, bool is_array)
{
	add_name(name);
	depth++;
}

static void on_end(void *arg)
{
	assert(depth > 0);
	depth--;
}

static const struct raw_visitor visitor = { on_number, on_unsigned, on_real, on_text,
					    on_label,  on_begin,    on_end };

static void check_event(struct raw_source *source, const struct raw_event *e)
{
	assert(e->kind < RAW_KIND_COUNT);
	add_bytes(e->comm.s, e->comm.len);
	if (e->kind == RAW_SWITCH)
		add_bytes(e->sched_switch.next_comm.s, e->sched_switch.next_comm.len);
	if (e->kind == RAW_SPAN_END)
		add_bytes(e->span.operation.s, e->span.operation.len);
	if (e->kind == RAW_LOST)
		assert(e->lost.start <= e->time && (e->lost.count || e->lost.packets));
	add_name(source->name(source));
	add_name(source->type_name(source, e->type));
	source->fields(source, &visitor, NULL);
	assert(depth == 0);
}

static void add_file(struct file_set *set, const char *name, const uint8_t *data, size_t size)
{
	struct trace_file file = { must_strdup(name), must_alloc(size ? size : 1), size, false };

	memcpy(file.data, data, size);
	*vec_push(&set->items) = file;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	size_t text = strnlen((const char *)input, size);
	struct file_set files = { 0 };
	struct raw_source *source = NULL;
	struct raw_event event;
	struct err err = { "" };
	nsec_t last = 0;

	add_file(&files, "t/metadata", input, text);
	if (text + 1 < size)
		add_file(&files, "t/stream", input + text + 1, size - text - 1);
	if (ctf_source_new("fuzz", &files, &source, &err) < 0) {
		assert(err.text[0] && !source);
		return 0;
	}
	for (int i = 0; i < EVENTS && source->next(source, &event, &err) > 0; i++) {
		assert(event.time >= last);
		last = event.time;
		check_event(source, &event);
	}
	source->free(source);
	return 0;
}

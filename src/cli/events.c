/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/events.h"

#include <string.h>

#include "report/json_put.h"

/* Deeper fields are left out; no tracer nests that deep. */
enum { DEPTH = 16 };

/* Output of the fields of one event: a JSON object or a line of text. */
struct field_sink {
	struct out *out;
	struct json *json; /* NULL for text */
	unsigned depth;
	uint32_t arrays; /* bit d: the value at depth d is an array */
	uint32_t plain;  /* bit d: the fields at depth d are written as fields of depth d - 1 */
	bool separate;   /* text: a separator is needed before the next value */
};

static bool in_array(const struct field_sink *s)
{
	return s->depth && s->arrays & 1u << (s->depth - 1);
}

/* Text: whether the next value is outside of all brackets. */
static bool on_line(const struct field_sink *s)
{
	uint32_t around = (1u << s->depth) - 1;

	return (s->plain & around) == around;
}

static bool begin_value(struct field_sink *s, const char *name)
{
	if (s->depth > DEPTH)
		return false;
	if (s->json) {
		if (!in_array(s))
			json_key_escaped(s->json, name ? name : "");
		return true;
	}
	if (on_line(s))
		out_char(s->out, ' ');
	else if (s->separate)
		out_str(s->out, ", ");
	s->separate = true;
	if (name) {
		out_escaped(s->out, name, strlen(name));
		out_char(s->out, '=');
	}
	return true;
}

static void put_number(void *arg, const char *name, int64_t n)
{
	struct field_sink *s = arg;

	if (!begin_value(s, name))
		return;
	if (s->json)
		json_i64(s->json, n);
	else
		out_i64(s->out, n);
}

static void put_unsigned(void *arg, const char *name, uint64_t n, int base)
{
	struct field_sink *s = arg;

	if (!begin_value(s, name))
		return;
	if (s->json) {
		json_u64(s->json, n);
	} else if (base == 16) {
		out_str(s->out, "0x");
		out_hex(s->out, n);
	} else {
		out_u64(s->out, n);
	}
}

static void put_floating(void *arg, const char *name, double n)
{
	struct field_sink *s = arg;
	char text[32];

	if (!begin_value(s, name))
		return;
	snprintf(text, sizeof(text), "%.17g", n);
	if (s->json)
		json_real(s->json, n);
	else
		out_str(s->out, text);
}

static void put_text(void *arg, const char *name, const char *text, size_t len)
{
	struct field_sink *s = arg;

	if (!begin_value(s, name))
		return;
	if (s->json) {
		json_string_n(s->json, text, len);
		return;
	}
	out_char(s->out, '"');
	out_escaped(s->out, text, len);
	out_char(s->out, '"');
}

static void put_label(void *arg, const char *name, int64_t n, bool is_signed, const char *word)
{
	struct field_sink *s = arg;

	if (is_signed)
		put_number(arg, name, n);
	else
		put_unsigned(arg, name, n, 10);
	if (!s->json && *word && s->depth <= DEPTH) {
		out_char(s->out, '(');
		out_escaped(s->out, word, strlen(word));
		out_char(s->out, ')');
	}
}

/* The selected option of a variant has no name; LTTng's event.fields are the fields of the event.
 */
static bool is_plain(const struct field_sink *s, const char *name, bool is_array)
{
	if (is_array || in_array(s))
		return false;
	return !name || (s->depth == 0 && strcmp(name, "event.fields") == 0);
}

static void set_bit(uint32_t *bits, unsigned bit, bool on)
{
	*bits = on ? *bits | 1u << bit : *bits & ~(1u << bit);
}

static void put_begin(void *arg, const char *name, bool is_array)
{
	struct field_sink *s = arg;

	if (s->depth > DEPTH) {
		s->depth++;
		return;
	}

	bool plain = is_plain(s, name, is_array);

	set_bit(&s->arrays, s->depth, is_array);
	set_bit(&s->plain, s->depth, plain);
	if (!plain && begin_value(s, name)) {
		if (s->json && is_array)
			json_array(s->json);
		else if (s->json)
			json_object(s->json);
		else
			out_char(s->out, is_array ? '[' : '{');
		s->separate = false;
	}
	s->depth++;
}

static void put_end(void *arg)
{
	struct field_sink *s = arg;

	s->depth--;
	if (s->depth > DEPTH || s->plain & 1u << s->depth)
		return;
	s->separate = true;
	if (s->json)
		json_end(s->json);
	else
		out_char(s->out, s->arrays & 1u << s->depth ? ']' : '}');
}

static const struct raw_visitor visitor = {
	.number = put_number,
	.unsigned_number = put_unsigned,
	.real = put_floating,
	.text = put_text,
	.label = put_label,
	.begin = put_begin,
	.end = put_end,
};

/* The same columns as in a dump of records. */
enum { SECONDS_WIDTH = 5, TID_WIDTH = 7, COMM_WIDTH = 16 };

static void put_thread(struct out *out, const struct raw_event *event)
{
	size_t width = 0;

	if (event->tid == RAW_UNKNOWN) {
		out_fill(out, TID_WIDTH - 1, ' ');
		out_char(out, '-');
	} else {
		out_u64_wide(out, event->tid, TID_WIDTH, ' ');
	}
	out_char(out, ' ');
	if (event->comm.s)
		width = out_escaped(out, event->comm.s, event->comm.len);
	if (width < COMM_WIDTH)
		out_fill(out, COMM_WIDTH - width, ' ');
}

static void write_text(struct out *out, struct raw_source *source, const struct raw_event *event)
{
	struct field_sink sink = { .out = out };
	const char *name = source->name(source);

	out_u64_wide(out, event->time / NSEC_PER_SEC, SECONDS_WIDTH, ' ');
	out_char(out, '.');
	out_u64_wide(out, event->time % NSEC_PER_SEC, 9, '0');
	out_str(out, "  [");
	out_u64_wide(out, event->cpu, 3, '0');
	out_str(out, "] ");
	put_thread(out, event);
	out_str(out, "  ");
	out_escaped(out, name, strlen(name));
	out_char(out, ':');
	source->fields(source, &visitor, &sink);
	out_char(out, '\n');
}

static void write_json(struct json *j, struct raw_source *source, const struct raw_event *event)
{
	struct field_sink sink = { .out = j->out, .json = j };

	json_object(j);
	put_u64(j, "time", event->time);
	put_u64(j, "cpu", event->cpu);
	if (event->tid != RAW_UNKNOWN)
		put_u64(j, "tid", event->tid);
	if (event->comm.s) {
		json_key(j, "comm");
		json_string_n(j, event->comm.s, event->comm.len);
	}
	put_string(j, "name", source->name(source));
	json_key(j, "fields");
	json_object(j);
	source->fields(source, &visitor, &sink);
	json_end(j);
	json_end(j);
	json_newline(j);
}

static bool passes(const struct dump_filter *filter, nsec_t since, const struct raw_event *event)
{
	if (since < filter->from || since > filter->to)
		return false;
	for (size_t i = 0; i < filter->thread_count; i++)
		if (filter->threads[i] == event->tid)
			return true;
	return !filter->thread_count;
}

int events_write(struct raw_source *source, const struct dump_filter *filter, bool json, FILE *file,
		 struct err *err)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	struct raw_event event;
	struct json j;
	bool started = false;
	nsec_t start = 0;
	int r;

	out_init(out, file);
	json_init(&j, out);
	while ((r = source->next(source, &event, err)) > 0 && !out->error) {
		if (!started)
			start = event.time;
		started = true;
		if (!raw_is_event(event.kind) || !passes(filter, event.time - start, &event))
			continue;
		if (json)
			write_json(&j, source, &event);
		else
			write_text(out, source, &event);
	}

	int written = out_finish(out, err);

	if (written < 0)
		return written;
	return r < 0 ? r : 0;
}

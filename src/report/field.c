/* SPDX-License-Identifier: Apache-2.0 */
#include "report/field.h"

/* The columns of a line of text. */
enum { SECONDS_WIDTH = 5, TID_WIDTH = 7, COMM_WIDTH = 15, TIME_WIDTH = 12, KIND_WIDTH = 13 };

/* A duration with three decimals, at least this many columns wide. */
static void put_time(struct out *out, nsec_t ns, size_t columns)
{
	static const struct {
		const char *name;
		size_t width;
		nsec_t ns;
	} units[] = { { " s", 2, NSEC_PER_SEC }, { " ms", 3, NSEC_PER_MSEC }, { " µs", 3, 1000 } };

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (ns < units[i].ns)
			continue;
		size_t suffix = 4 + units[i].width;
		out_u64_wide(out, ns / units[i].ns, columns > suffix ? columns - suffix : 0, ' ');
		out_char(out, '.');
		out_u64_wide(out, ns % units[i].ns / (units[i].ns / 1000), 3, '0');
		out_str(out, units[i].name);
		return;
	}
	out_u64_wide(out, ns, columns > 3 ? columns - 3 : 0, ' ');
	out_str(out, " ns");
}

/* A time in seconds since the origin; negative if it is before. */
static void put_clock(struct fields *f, nsec_t time)
{
	bool before = time < f->origin;
	nsec_t ns = before ? f->origin - time : time - f->origin;

	if (before)
		out_str(f->out, "   -");
	out_u64_wide(f->out, ns / NSEC_PER_SEC, before ? 0 : SECONDS_WIDTH, ' ');
	out_char(f->out, '.');
	out_u64_wide(f->out, ns % NSEC_PER_SEC, 9, '0');
}

static void put_padded(struct out *out, const char *s, size_t columns)
{
	size_t width = out_escaped(out, s, strlen(s));

	if (width < columns)
		out_fill(out, columns - width, ' ');
}

static void begin_text(struct fields *f, const struct field_head *head)
{
	struct out *out = f->out;

	put_clock(f, head->time);
	if (head->has_cpu) {
		out_str(out, "  [");
		out_u64_wide(out, head->cpu, 3, '0');
		out_str(out, "] ");
	} else {
		out_fill(out, 8, ' ');
	}
	if (head->has_thread) {
		out_u64_wide(out, head->tid, TID_WIDTH, ' ');
		out_char(out, ' ');
		put_padded(out, head->comm, COMM_WIDTH);
	} else {
		out_fill(out, TID_WIDTH + 1 + COMM_WIDTH, ' ');
	}
	out_str(out, "  ");
	if (head->state) {
		out_escaped(out, &head->state, 1);
		field_range(f, "", head->start, head->end);
	} else {
		put_padded(out, head->kind, KIND_WIDTH);
	}
}

static void begin_json(struct fields *f, const struct field_head *head)
{
	json_object(f->json);
	field_str(f, "kind", "", head->kind);
	field_u64(f, "time", "", head->time);
	if (head->host)
		field_str(f, "host", "", head->host);
	if (head->has_cpu)
		field_u64(f, "cpu", "", head->cpu);
	if (head->has_thread) {
		field_u64(f, "tid", "", head->tid);
		field_u64(f, "pid", "", head->pid);
		field_str(f, "comm", "", head->comm);
	}
	if (head->state) {
		field_str_n(f, "state", "", &head->state, 1);
		field_range(f, "", head->start, head->end);
	}
}

void fields_begin(struct fields *f, const struct field_head *head)
{
	if (f->json)
		begin_json(f, head);
	else
		begin_text(f, head);
}

void fields_end(struct fields *f)
{
	if (f->json)
		json_end(f->json);
	out_char(f->out, '\n');
}

/* Write the key or the lead; returns whether the value follows. */
static bool put_key(struct fields *f, const char *key, const char *lead)
{
	if (f->json && key && *key)
		json_key(f->json, key);
	if (!f->json && lead)
		out_str(f->out, lead);
	return f->json ? key : lead;
}

void field_str_n(struct fields *f, const char *key, const char *lead, const char *s, size_t len)
{
	if (!put_key(f, key, lead))
		return;
	if (f->json)
		json_string_n(f->json, s, len);
	else
		out_escaped(f->out, s, len);
}

void field_str(struct fields *f, const char *key, const char *lead, const char *s)
{
	field_str_n(f, key, lead, s, strlen(s));
}

void field_u64(struct fields *f, const char *key, const char *lead, uint64_t n)
{
	if (!put_key(f, key, lead))
		return;
	if (f->json)
		json_u64(f->json, n);
	else
		out_u64(f->out, n);
}

void field_i64(struct fields *f, const char *key, const char *lead, int64_t n)
{
	if (!put_key(f, key, lead))
		return;
	if (f->json)
		json_i64(f->json, n);
	else
		out_i64(f->out, n);
}

void field_real(struct fields *f, const char *key, const char *lead, double n)
{
	char text[32];

	if (!put_key(f, key, lead))
		return;
	if (f->json) {
		json_real(f->json, n);
		return;
	}
	snprintf(text, sizeof(text), "%.15g", n);
	out_str(f->out, text);
}

void field_bool(struct fields *f, const char *key, const char *lead, bool b)
{
	if (!put_key(f, key, lead))
		return;
	if (f->json)
		json_bool(f->json, b);
	else
		out_str(f->out, b ? "true" : "false");
}

void field_hex(struct fields *f, const char *key, const char *lead, uint64_t n)
{
	if (!put_key(f, key, lead))
		return;
	if (f->json) {
		json_u64(f->json, n);
		return;
	}
	out_str(f->out, "0x");
	out_hex(f->out, n);
}

void field_time(struct fields *f, const char *key, const char *lead, nsec_t ns)
{
	if (!put_key(f, key, lead))
		return;
	if (f->json)
		json_u64(f->json, ns);
	else
		put_time(f->out, ns, 0);
}

void field_word(struct fields *f, const char *key, const char *lead, int64_t n, const char *word)
{
	if (f->json || !word)
		field_i64(f, key, lead, n);
	else
		field_str(f, key, lead, word);
}

void field_name(struct fields *f, const char *key, const char *lead, const char *word, uint64_t n)
{
	if (word)
		field_str(f, key, lead, word);
	else
		field_u64(f, key, lead, n);
}

void field_flag(struct fields *f, const char *key, const char *lead, bool set)
{
	if (set && put_key(f, key, lead) && f->json)
		json_bool(f->json, true);
}

void field_range(struct fields *f, const char *lead, nsec_t start, nsec_t end)
{
	field_u64(f, "start", NULL, start);
	field_u64(f, "end", NULL, end);
	if (!f->json && put_key(f, NULL, lead))
		put_time(f->out, end > start ? end - start : 0, TIME_WIDTH);
}

void field_words(struct fields *f, const char *words)
{
	if (!f->json)
		out_str(f->out, words);
}

void field_object(struct fields *f, const char *key)
{
	if (put_key(f, key, NULL) && f->json)
		json_object(f->json);
}

void field_list(struct fields *f, const char *key)
{
	if (put_key(f, key, NULL) && f->json)
		json_array(f->json);
}

void field_end(struct fields *f)
{
	if (f->json)
		json_end(f->json);
}

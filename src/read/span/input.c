/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans are exported when they end, so most files are nearly in the order that
 * is wanted, but those of several processes are not.  If it is not the order of
 * the file, the ends are sorted by radix, eleven bits at a time and only those
 * bits in which they differ: that is linear, stable, and moves sixteen bytes a
 * span and not the record.
 */
#include "read/span/input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include "base/file.h"

struct span_input *span_input_new(const struct input_format *format, const char *name)
{
	struct span_input *in = must_alloc(sizeof(*in));

	in->input.format = format;
	in->input.has_realtime = true;
	in->name = must_strdup(name);
	in->strings = strtab_new();
	return in;
}

str_id span_input_intern(struct span_input *in, struct view text)
{
	return text.s ? strtab_add_n(in->strings, text.s, text.len) : (str_id){ 0 };
}

void span_input_add(struct span_input *in, const struct record_span *span, str_id host)
{
	*vec_push(&in->spans) = (struct span_entry){ .record = *span,
						     .host = host,
						     .tag_count = in->tags.count - in->tags_taken,
						     .first_tag = in->tags_taken };
	in->tags_taken = in->tags.count;
}

void span_input_skip(struct span_input *in, const char *why, ...)
{
	va_list ap;

	if (in->skipped++)
		return;
	va_start(ap, why);
	vsnprintf(in->first_skipped, sizeof(in->first_skipped), why, ap);
	va_end(ap);
}

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* Stable, by the digit of (end - first) at that bit. */
static void sort_by_digit(const struct span_end *from, struct span_end *to, size_t count,
			  nsec_t first, unsigned shift)
{
	size_t place[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < count; i++)
		place[(from[i].end - first) >> shift & (DIGITS - 1)]++;
	for (size_t d = 0; d < DIGITS; d++) {
		size_t n = place[d];

		place[d] = sum;
		sum += n;
	}
	for (size_t i = 0; i < count; i++)
		to[place[(from[i].end - first) >> shift & (DIGITS - 1)]++] = from[i];
}

/* Sorts ends that are from first to last; the result may be the other array than the given one. */
static struct span_end *sort_ends(struct span_end *ends, size_t count, nsec_t first, nsec_t last)
{
	struct span_end *other = must_realloc(NULL, count * sizeof(*other));

	for (unsigned shift = 0; shift < 64 && (last - first) >> shift; shift += DIGIT_BITS) {
		struct span_end *sorted = other;

		sort_by_digit(ends, other, count, first, shift);
		other = ends;
		ends = sorted;
	}
	free(other);
	return ends;
}

static void sort_spans(struct span_input *in)
{
	size_t count = in->spans.count;
	nsec_t first = UINT64_MAX, last = 0;
	bool sorted = true;

	for (size_t i = 0; i < count; i++) {
		nsec_t end = in->spans.items[i].record.head.time;

		sorted = sorted && end >= last;
		last = end > last ? end : last;
		first = end < first ? end : first;
	}
	if (sorted)
		return;
	in->order = must_realloc(NULL, count * sizeof(*in->order));
	for (size_t i = 0; i < count; i++)
		in->order[i] = (struct span_end){ in->spans.items[i].record.head.time, i };
	in->order = sort_ends(in->order, count, first, last);
}

/* One more part of a sentence that may be empty; takes both. */
static char *join(char *said, char *more)
{
	_cleanup_(freep) char *before = said, *after = more;

	return said ? must_printf("%s; %s", said, more) : must_strdup(more);
}

static char *warning_of(const struct span_input *in)
{
	char *said = NULL;

	if (in->cut && !in->skipped && !in->unfinished)
		return must_printf("'%s' is not complete: %s", in->name, in->cut);
	if (in->skipped)
		said = must_printf("left out %" PRIu64 " of %" PRIu64 " spans; %s", in->skipped,
				   in->spans.count + in->skipped, in->first_skipped);
	if (in->unfinished)
		said = join(said, must_printf("%" PRIu64 " of %" PRIu64 " spans without an end, "
					      "shown to the end of their last child",
					      in->unfinished, in->spans.count));
	if (in->cut)
		said = join(said, must_printf("it is not complete: %s", in->cut));

	_cleanup_(freep) char *words = said;

	return said ? must_printf("'%s': %s", in->name, said) : NULL;
}

struct input *span_input_finish(struct span_input *in)
{
	in->unfinished = span_find_ends(in);
	sort_spans(in);
	in->input.warning = warning_of(in);
	in->input.events = in->spans.count + in->skipped;
	return &in->input;
}

/* An attribute has the time and the thread of its span. */
static const struct record *tell_tag(struct span_input *in, const struct span_entry *span)
{
	const struct span_tag *tag = &in->tags.items[span->first_tag + in->tags_told];

	if (!in->tags_told++) {
		in->told.head = span->record.head;
		in->told.head.kind = RECORD_ATTRIBUTE;
		in->told.head.words = sizeof(in->told) / 8;
		memcpy(in->told.trace, span->record.trace, sizeof(in->told.trace));
		memcpy(in->told.span, span->record.span, sizeof(in->told.span));
	}
	in->told.value = tag->value;
	in->told.key = tag->key.i;
	in->told.type = tag->type;
	return &in->told.head;
}

int span_input_next(struct input *input, const struct record **ret, struct err *err)
{
	struct span_input *in = (struct span_input *)input;

	if (in->at == in->spans.count)
		return 0;

	size_t index = in->order ? in->order[in->at].index : in->at;
	const struct span_entry *span = &in->spans.items[index];

	if (!in->tags_told)
		input->record_host = strtab_get(in->strings, span->host);
	if (in->tags_told < span->tag_count) {
		*ret = tell_tag(in, span);
		return 1;
	}
	in->at++;
	in->tags_told = 0;
	*ret = &span->record.head;
	return 1;
}

const char *span_input_string(const struct input *input, uint32_t id)
{
	return strtab_get(((const struct span_input *)input)->strings, (str_id){ id });
}

void span_input_free(struct input *input)
{
	struct span_input *in = (struct span_input *)input;

	strtab_free(in->strings);
	vec_done(&in->spans);
	vec_done(&in->tags);
	span_text_done(&in->text);
	free(in->order);
	free(in->name);
	free(in);
}

int span_input_open(const char *path, open_memory_fn *read, struct input **ret, struct err *err)
{
	_cleanup_(file_unmap) struct view bytes = { 0 };
	int r = file_map(path, &bytes, err);

	return r < 0 ? r : read(path, bytes.s, bytes.len, ret, err);
}

int span_input_read_json(struct span_input *in, struct view text,
			 const struct span_json_reader *reader, struct input **ret, struct err *err)
{
	_cleanup_(input_freep) struct input *input = &in->input;
	bool cut;
	int r = json_each(in->name, text, reader->shape, reader->document, reader->arg, &cut, err);

	if (r < 0)
		return r;
	if (cut)
		in->cut = "its last line is cut off";
	if (reader->finish)
		reader->finish(reader->arg);
	span_input_finish(in);
	*ret = TAKE(input);
	return 0;
}

const char *span_set_times(struct record_span *span, uint64_t start, uint64_t end)
{
	if (start > end)
		return "ends before it begins";
	if (end > INT64_MAX)
		return "never ends";
	span->start = start;
	span->head.time = end;
	return NULL;
}

const char *span_set_begin(struct record_span *span, uint64_t start)
{
	span->flags |= SPAN_OPEN;
	return span_set_times(span, start, start);
}

/* Asked for every attribute of every span: the length rules most of them out. */
enum span_key span_key(struct view key)
{
#define IS(name) (memcmp(key.s, name, sizeof(name) - 1) == 0)
	switch (key.len) {
	case 3:
		return IS("pid") ? SPAN_KEY_PID : SPAN_KEY_OTHER;
	case 5:
		return IS("error") ? SPAN_KEY_ERROR : SPAN_KEY_OTHER;
	case 8:
		return IS("hostname") ? SPAN_KEY_HOST : SPAN_KEY_OTHER;
	case 9:
		return IS("host.name")   ? SPAN_KEY_HOST
		       : IS("sonde.tid") ? SPAN_KEY_SONDE_TID
		       : IS("span.kind") ? SPAN_KEY_KIND
					 : SPAN_KEY_OTHER;
	case 10:
		return IS("sonde.kind")   ? SPAN_KEY_REBUILT
		       : IS("sonde.open") ? SPAN_KEY_OPEN
					  : SPAN_KEY_OTHER;
	case 11:
		return IS("process.pid") ? SPAN_KEY_PID : SPAN_KEY_OTHER;
	case 12:
		return IS("service.name") ? SPAN_KEY_SERVICE : SPAN_KEY_OTHER;
	case 13:
		return IS("k8s.node.name")   ? SPAN_KEY_NODE
		       : IS("sonde.follows") ? SPAN_KEY_FOLLOWS
					     : SPAN_KEY_OTHER;
	case 16:
		return IS("thread.native_id")   ? SPAN_KEY_TID
		       : IS("otel.status_code") ? SPAN_KEY_STATUS
						: SPAN_KEY_OTHER;
	default:
		return SPAN_KEY_OTHER;
	}
#undef IS
}

static void take_u32(const struct span_value *value, uint32_t *ret)
{
	int64_t n = value->number;

	if ((value->type == ATTRIBUTE_INT || text_scaled(value->text, 0, &n)) && n >= 0 &&
	    n <= UINT32_MAX)
		*ret = n;
}

void span_owner_set(struct span_input *in, struct span_owner *owner, struct view name,
		    const struct span_value *value)
{
	enum span_key key = span_key(name);
	bool is_node = key == SPAN_KEY_NODE;

	if (key == SPAN_KEY_PID)
		take_u32(value, &owner->pid);
	else if (key == SPAN_KEY_SERVICE)
		owner->service = span_input_intern(in, value->text);
	else if (is_node || (key == SPAN_KEY_HOST && !owner->is_node)) {
		owner->host = span_input_intern(in, value->text);
		owner->is_node = is_node;
	}
}

enum span_kind span_kind_of(struct view name)
{
	static const char *const names[] = { "",       "INTERNAL", "SERVER",
					     "CLIENT", "PRODUCER", "CONSUMER" };
	static const char lead[] = "SPAN_KIND_";
	size_t skip = strlen(lead);

	if (name.len > skip && memcmp(name.s, lead, skip) == 0)
		name = (struct view){ name.s + skip, name.len - skip };
	for (size_t i = ARRAY_LEN(names) - 1; i > 0; i--)
		if (name.len == strlen(names[i]) && strncasecmp(name.s, names[i], name.len) == 0)
			return i;
	return SPAN_UNSPECIFIED;
}

/* Tools do not agree on the type of the tag `error`, and a word in it is what went wrong. */
static bool is_error(const struct span_value *value)
{
	if (value->type == ATTRIBUTE_STRING)
		return value->text.len && !view_is(value->text, "false") &&
		       !view_is(value->text, "0");
	return value->type == ATTRIBUTE_DOUBLE ? value->real != 0 : value->number != 0;
}

static bool set_kind(struct record_span *span, struct view name)
{
	enum span_kind kind = span_kind_of(name);

	if (kind)
		span->kind = kind;
	return kind;
}

static bool set_flag(struct record_span *span, uint8_t flag, bool set)
{
	if (set)
		span->flags |= flag;
	return set;
}

/* Whether it is all in the record now. */
static bool span_set(struct record_span *span, enum span_key key, const struct span_value *value)
{
	switch (key) {
	case SPAN_KEY_TID:
		take_u32(value, &span->head.tid);
		return false; /* what others call it stays */
	case SPAN_KEY_SONDE_TID:
		take_u32(value, &span->head.tid);
		return true;
	case SPAN_KEY_ERROR:
		set_flag(span, SPAN_ERROR, is_error(value));
		return false; /* it may say why */
	case SPAN_KEY_STATUS:
		return set_flag(span, SPAN_ERROR, view_is(value->text, "ERROR"));
	case SPAN_KEY_KIND:
		return set_kind(span, value->text);
	case SPAN_KEY_REBUILT:
		span->source = SPAN_INFERRED;
		return false;
	case SPAN_KEY_OPEN:
		return set_flag(span, SPAN_OPEN, span_value_is_true(value));
	case SPAN_KEY_FOLLOWS:
		return set_flag(span, SPAN_FOLLOWS, span_value_is_true(value));
	default:
		return false;
	}
}

/* Quicker than to look it up, if it is the last one of this place. */
static str_id intern_like(struct span_input *in, struct span_word *last, struct view text)
{
	if (text.len == last->text.len && text.len && memcmp(text.s, last->text.s, text.len) == 0)
		return last->id;
	last->id = span_input_intern(in, text);
	last->text = (struct view){ strtab_get(in->strings, last->id), text.len };
	if (strlen(last->text.s) != text.len)
		last->text.len = 0; /* it has a NUL in it */
	return last->id;
}

/* Of the attribute that is taken next. */
static size_t place_of(const struct span_input *in)
{
	return (in->tags.count - in->tags_taken) % SPAN_RECENT;
}

bool span_take_same(struct span_input *in, struct view bytes)
{
	const struct span_same *last = &in->last_same[place_of(in)];

	if (!bytes.len || bytes.len != last->bytes.len ||
	    memcmp(bytes.s, last->bytes.s, bytes.len) != 0)
		return false;
	*vec_push(&in->tags) = last->tag;
	return true;
}

void span_keep(struct span_input *in, struct view bytes)
{
	size_t last = in->tags.count - 1;

	in->last_same[(last - in->tags_taken) % SPAN_RECENT] =
		(struct span_same){ bytes, in->tags.items[last] };
}

bool span_take(struct span_input *in, struct record_span *span, struct view key,
	       const struct span_value *value)
{
	struct span_tag tag = { .type = value->type, .value = value->number };
	enum span_key meaning = span_key(key);
	size_t place = place_of(in);

	if (span_set(span, meaning, value))
		return false;
	tag.key = intern_like(in, &in->last_keys[place], key);
	if (!tag.key.i)
		return false;
	if (value->type == ATTRIBUTE_STRING)
		tag.value = intern_like(in, &in->last_values[place], value->text).i;
	else if (value->type == ATTRIBUTE_DOUBLE)
		memcpy(&tag.value, &value->real, sizeof(tag.value));
	*vec_push(&in->tags) = tag;
	return meaning == SPAN_KEY_OTHER;
}

static void take_text(struct span_input *in, struct record_span *span, const char *key,
		      struct view text)
{
	struct span_value value = { ATTRIBUTE_STRING, .text = text };

	span_take(in, span, (struct view){ key, strlen(key) }, &value);
}

void span_take_status(struct span_input *in, struct record_span *span, uint32_t status,
		      struct view message)
{
	if (status == OTLP_STATUS_ERROR)
		span->flags |= SPAN_ERROR;
	else if (status == OTLP_STATUS_OK)
		take_text(in, span, "otel.status_code", (struct view){ "OK", 2 });
	if (message.len)
		take_text(in, span, "otel.status_description", message);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "read/span/input.h"

#include <errno.h>
#include <inttypes.h>
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

void span_input_add(struct span_input *in, struct record_span *span, const struct span_owner *owner,
		    struct view operation)
{
	span->service = owner->service.i;
	span->pid = owner->pid;
	span->operation = span_input_intern(in, operation).i;
	*vec_push(&in->spans) = (struct span_entry){ .record = *span,
						     .host = owner->host,
						     .tag_count = in->tags.count - in->tags_added,
						     .first_tag = in->tags_added };
	in->tags_added = in->tags.count;
}

void span_input_skip(struct span_input *in, const char *why)
{
	if (!in->skipped++)
		snprintf(in->first_skipped, sizeof(in->first_skipped), "span %zu %s",
			 in->spans.count + 1, why);
}

/*
 * Spans are exported when they end, so files of a single process are nearly in order of
 * the ends, but those of several processes are not.
 */
static void sort_spans(struct span_input *in)
{
	size_t count = in->spans.count;
	nsec_t last = 0;
	bool sorted = true;

	for (size_t i = 0; sorted && i < count; i++) {
		nsec_t end = in->spans.items[i].record.head.time;

		sorted = end >= last;
		last = end;
	}
	if (sorted)
		return;
	in->order = must_realloc(NULL, count * sizeof(*in->order));
	for (size_t i = 0; i < count; i++)
		in->order[i] = (struct time_sort_item){ in->spans.items[i].record.head.time, i };
	in->order = time_sort(in->order, count);
}

/* Appends a clause to a text that can be NULL; frees both. */
static char *join(char *text, char *more)
{
	_cleanup_(freep) char *before = text, *after = more;

	return text ? must_printf("%s; %s", text, more) : must_strdup(more);
}

static char *warning_of(const struct span_input *in)
{
	char *clauses = NULL;

	if (in->truncation && !in->skipped && !in->unfinished)
		return must_printf("'%s' is truncated: %s", in->name, in->truncation);
	if (in->skipped)
		clauses = must_printf("skipped %" PRIu64 " of %" PRIu64 " spans: %s", in->skipped,
				      in->spans.count + in->skipped, in->first_skipped);
	if (in->unfinished)
		clauses = join(clauses,
			       must_printf("%" PRIu64 " of %" PRIu64 " spans are unfinished and "
					   "shown up to the end of their last child",
					   in->unfinished, in->spans.count));
	if (in->truncation)
		clauses = join(clauses, must_printf("the file is truncated: %s", in->truncation));

	_cleanup_(freep) char *text = clauses;

	return text ? must_printf("'%s': %s", in->name, text) : NULL;
}

struct input *span_input_finish(struct span_input *in)
{
	in->unfinished = span_find_ends(in);
	sort_spans(in);
	in->input.warning = warning_of(in);
	in->input.events = in->spans.count + in->skipped;
	return &in->input;
}

/* An attribute has the time and thread of its span. */
static const struct record *tag_record(struct span_input *in, const struct span_entry *span)
{
	const struct span_tag *tag = &in->tags.items[span->first_tag + in->tags_returned];

	if (!in->tags_returned++) {
		in->attribute.head = span->record.head;
		in->attribute.head.kind = RECORD_ATTRIBUTE;
		in->attribute.head.words = sizeof(in->attribute) / 8;
		memcpy(in->attribute.trace, span->record.trace, sizeof(in->attribute.trace));
		memcpy(in->attribute.span, span->record.span, sizeof(in->attribute.span));
	}
	in->attribute.value = tag->value;
	in->attribute.key = tag->key.i;
	in->attribute.type = tag->type;
	return &in->attribute.head;
}

int span_input_next(struct input *input, const struct record **ret, struct err *err)
{
	struct span_input *in = (struct span_input *)input;

	if (in->next == in->spans.count)
		return 0;

	size_t index = in->order ? in->order[in->next].index : in->next;
	const struct span_entry *span = &in->spans.items[index];

	if (!in->tags_returned)
		input->record_host = strtab_get(in->strings, span->host);
	if (in->tags_returned < span->tag_count) {
		*ret = tag_record(in, span);
		return 1;
	}
	in->next++;
	in->tags_returned = 0;
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
	span_text_buffer_done(&in->text);
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

int span_input_read_json(struct span_input *in, struct view text, const struct json_reader *reader,
			 void (*finish)(void *arg), struct input **ret, struct err *err)
{
	_cleanup_(input_freep) struct input *input = &in->input;
	bool truncated;
	int r = json_each(in->name, text, reader, &truncated, err);

	if (r < 0)
		return r;
	if (truncated)
		in->truncation = "the last line is incomplete";
	if (finish)
		finish(reader->arg);
	span_input_finish(in);
	*ret = TAKE(input);
	return 0;
}

const char *span_set_times(struct record_span *span, uint64_t start, uint64_t end)
{
	if (start > end)
		return "ends before it starts";
	if (end > INT64_MAX)
		return "has an invalid end time";
	span->start = start;
	span->head.time = end;
	return NULL;
}

const char *span_set_unfinished(struct record_span *span, uint64_t start)
{
	span->flags |= SPAN_OPEN;
	return span_set_times(span, start, start);
}

/* Called for every attribute of every span, so it first compares the length. */
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
		return IS("sonde.kind") ? SPAN_KEY_REBUILT : SPAN_KEY_OTHER;
	case 11:
		return IS("process.pid") ? SPAN_KEY_PID : SPAN_KEY_OTHER;
	case 12:
		return IS("service.name") ? SPAN_KEY_SERVICE : SPAN_KEY_OTHER;
	case 13:
		return IS("k8s.node.name") ? SPAN_KEY_NODE : SPAN_KEY_OTHER;
	case 16:
		return IS("thread.native_id")   ? SPAN_KEY_TID
		       : IS("otel.status_code") ? SPAN_KEY_STATUS
		       : IS("sonde.unfinished") ? SPAN_KEY_OPEN
						: SPAN_KEY_OTHER;
	case 18:
		return IS("sonde.follows_from") ? SPAN_KEY_FOLLOWS : SPAN_KEY_OTHER;
	default:
		return SPAN_KEY_OTHER;
	}
#undef IS
}

static void take_u32(const struct span_value *value, uint32_t *ret)
{
	int64_t n = value->number;

	if ((value->type == ATTRIBUTE_INT || json_scaled_text(value->text, 0, &n)) && n >= 0 &&
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

/* The type of the tag `error` differs between tools; some store the message. */
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

/* Returns whether the record of the span contains the attribute now. */
static bool set_from_tag(struct record_span *span, enum span_key key,
			 const struct span_value *value)
{
	switch (key) {
	case SPAN_KEY_TID:
		take_u32(value, &span->head.tid);
		return false; /* written by others: keep it */
	case SPAN_KEY_SONDE_TID:
		take_u32(value, &span->head.tid);
		return true;
	case SPAN_KEY_ERROR:
		set_flag(span, SPAN_ERROR, is_error(value));
		return false; /* can contain the message */
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

/* Faster than the string table if the text equals the recent one. */
static str_id intern_recent(struct span_input *in, struct span_string *recent, struct view text)
{
	if (text.len == recent->text.len && text.len &&
	    memcmp(text.s, recent->text.s, text.len) == 0)
		return recent->id;
	recent->id = span_input_intern(in, text);
	recent->text = (struct view){ strtab_get(in->strings, recent->id), text.len };
	if (strlen(recent->text.s) != text.len)
		recent->text.len = 0; /* contains a NUL */
	return recent->id;
}

/* Position of the next attribute in its span. */
static size_t next_position(const struct span_input *in)
{
	return (in->tags.count - in->tags_added) % SPAN_RECENT;
}

bool span_add_cached_tag(struct span_input *in, struct view bytes)
{
	const struct span_cached_tag *cached = &in->recent_tags[next_position(in)];

	if (!bytes.len || bytes.len != cached->bytes.len ||
	    memcmp(bytes.s, cached->bytes.s, bytes.len) != 0)
		return false;
	*vec_push(&in->tags) = cached->tag;
	return true;
}

void span_cache_tag(struct span_input *in, struct view bytes)
{
	size_t last = in->tags.count - 1;

	in->recent_tags[(last - in->tags_added) % SPAN_RECENT] =
		(struct span_cached_tag){ bytes, in->tags.items[last] };
}

bool span_add_tag(struct span_input *in, struct record_span *span, struct view key,
		  const struct span_value *value)
{
	struct span_tag tag = { .type = value->type, .value = value->number };
	enum span_key meaning = span_key(key);
	size_t position = next_position(in);

	if (set_from_tag(span, meaning, value))
		return false;
	tag.key = intern_recent(in, &in->recent_keys[position], key);
	if (!tag.key.i)
		return false;
	if (value->type == ATTRIBUTE_STRING)
		tag.value = intern_recent(in, &in->recent_values[position], value->text).i;
	else if (value->type == ATTRIBUTE_DOUBLE)
		memcpy(&tag.value, &value->real, sizeof(tag.value));
	*vec_push(&in->tags) = tag;
	return meaning == SPAN_KEY_OTHER;
}

static void add_text_tag(struct span_input *in, struct record_span *span, const char *key,
			 struct view text)
{
	struct span_value value = { ATTRIBUTE_STRING, .text = text };

	span_add_tag(in, span, (struct view){ key, strlen(key) }, &value);
}

void span_set_status(struct span_input *in, struct record_span *span, uint32_t status,
		     struct view message)
{
	if (status == OTLP_STATUS_ERROR)
		span->flags |= SPAN_ERROR;
	else if (status == OTLP_STATUS_OK)
		add_text_tag(in, span, "otel.status_code", (struct view){ "OK", 2 });
	if (message.len)
		add_text_tag(in, span, "otel.status_description", message);
}

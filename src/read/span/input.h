/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_input - what the readers of spans have in common.
 *
 *	struct span_input *in = span_input_new(&zipkin_format, name);
 *	span_input_add(in, &span, owner.host);		for each span
 *	span_input_skip(in, "span %d has no id", n);	or this
 *	*ret = span_input_finish(in);
 *
 * A file of spans is read as a whole, since spans stand there in any order and
 * records come by their ends.  A span without what a span needs is left out and
 * counted; the notice says how many, and what was wrong with the first.
 *
 * The attributes of a span become records of their own, before that of the span.
 * Of them and of those of the process that made it (its owner), a few matter
 * here; the formats carry the same ones in different ways:
 *
 * - service.name, process.pid (or pid): whose it is.
 * - k8s.node.name, host.name (or hostname): the machine, by the name that the
 *   kernel of it has, too.  In a container, host.name is that of the container,
 *   so the node's name goes first.  host.id is no name, and is not taken: a span
 *   without a name may still belong to the only machine there is.
 * - thread.native_id (as .NET writes it), sonde.tid: the thread that worked for
 *   it, by the system's number.  What thread.id means depends on the language:
 *   Java and .NET count their threads themselves, Python gives an address.
 * - error, otel.status_code: that it failed.
 * - span.kind (Jaeger): whether it is a server's, a client's, and so on.
 *
 * What a span's record says all by itself is no attribute any more.  As formats
 * without a status have it, that of OTLP comes as otel.status_code, if it is OK,
 * and otel.status_description.
 */
#ifndef SONDE_READ_SPAN_INPUT_H
#define SONDE_READ_SPAN_INPUT_H

#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "base/view.h"
#include "read/input_internal.h"
#include "read/span/value.h"

/* An attribute. */
struct span_tag {
	uint64_t value; /* as in struct record_attribute */
	str_id key;
	uint8_t type;
};

/* A text that was interned, and its number. */
struct span_word {
	struct view text; /* borrowed from the strings */
	str_id id;
};

/* An attribute as its format has it, and what became of it. */
struct span_same {
	struct view bytes; /* borrowed from the file, as long as that is read */
	struct span_tag tag;
};

struct span_entry {
	struct record_span record;
	str_id host;
	uint32_t tag_count;
	uint64_t first_tag;
};

/* The end of a span, and which one it is. */
struct span_end {
	nsec_t end;
	uint64_t index;
};

enum { SPAN_RECENT = 16 };

struct span_input {
	struct input input;
	char *name;
	struct strtab *strings;
	VEC(struct span_entry) spans; /* in the order of the file */
	VEC(struct span_tag) tags;    /* likewise */
	struct span_end *order;       /* of records; NULL if it is that of the file */
	size_t at;
	uint32_t tags_told; /* of the span there */
	struct record_attribute told;
	uint64_t tags_taken; /* those that belong to spans that were added */
	/* by place: the last attribute there, as most spans have the same keys in the same order */
	struct span_word last_keys[SPAN_RECENT], last_values[SPAN_RECENT];
	struct span_same last_same[SPAN_RECENT];
	struct span_text text;
	uint64_t skipped, unfinished;
	char first_skipped[128]; /* why */
	const char *cut;         /* what of the file is missing at its end, or NULL */
};

struct span_input *span_input_new(const struct input_format *format, const char *name);

/* A record that is a span of an SDK, and nothing else yet. */
static inline struct record_span span_empty(void)
{
	return (struct record_span){ .head = { .kind = RECORD_SPAN,
					       .words = sizeof(struct record_span) / 8 },
				     .source = SPAN_SDK };
}

/* Its number in the file, from 1, before it is added or skipped. */
static inline uint64_t span_input_number(const struct span_input *in)
{
	return in->spans.count + in->skipped + 1;
}

str_id span_input_intern(struct span_input *in, struct view text);
void span_input_add(struct span_input *in, const struct record_span *span, str_id host);
__attribute__((format(printf, 2, 3))) void span_input_skip(struct span_input *in, const char *why,
							   ...);

/* Sorts what was added.  The result is `in`, as the input that it is now. */
struct input *span_input_finish(struct span_input *in);

/* For struct input_format. */
int span_input_next(struct input *input, const struct record **ret, struct err *err);
const char *span_input_string(const struct input *input, uint32_t id);
void span_input_free(struct input *input);

/* Maps the file for as long as it is read. */
int span_input_open(const char *path, open_memory_fn *read, struct input **ret, struct err *err);

/* How a JSON file is read. */
struct span_json_reader {
	const struct json_shape *shape;
	json_fn *document;         /* called for each document, with arg; */
	void (*finish)(void *arg); /* then this, unless it is NULL */
	void *arg;
};

/* As read; frees `in` if that fails. */
int span_input_read_json(struct span_input *in, struct view text,
			 const struct span_json_reader *reader, struct input **ret,
			 struct err *err);

/* Puts start and end in, or returns what is wrong with them. */
const char *span_set_times(struct record_span *span, uint64_t start, uint64_t end);

/* The same for a span that was not finished: span_find_ends() gives it an end. */
const char *span_set_begin(struct record_span *span, uint64_t start);

/* After the last span: unfinished ones end when the last child does.  Returns how many there are.
 */
uint64_t span_find_ends(struct span_input *in);

static inline bool span_id_is_none(const void *id, size_t size)
{
	static const uint8_t none[16];

	return memcmp(id, none, size) == 0;
}

/* For a map of spans: a span of the trace that this one is in. */
static inline uint64_t span_key_of(const struct record_span *span, const uint8_t id[8])
{
	uint8_t both[24];

	memcpy(both, span->trace, 16);
	memcpy(both + 16, id, 8);
	return hash_bytes(both, sizeof(both));
}

enum span_key {
	SPAN_KEY_OTHER,
	SPAN_KEY_SERVICE,
	SPAN_KEY_NODE,
	SPAN_KEY_HOST,
	SPAN_KEY_PID,
	SPAN_KEY_TID,
	SPAN_KEY_ERROR,
	SPAN_KEY_STATUS,
	SPAN_KEY_KIND,
	SPAN_KEY_REBUILT, /* of spans that sonde rebuilt or exported: from here on */
	SPAN_KEY_SONDE_TID,
	SPAN_KEY_OPEN,
	SPAN_KEY_FOLLOWS,
};
enum span_key span_key(struct view key);

/* What the spans of a process have in common. */
struct span_owner {
	str_id service, host;
	uint32_t pid;
	bool is_node; /* that is the host */
};

/* Takes what concerns it and passes over all else. */
void span_owner_set(struct span_input *in, struct span_owner *owner, struct view key,
		    const struct span_value *value);

/* An attribute of the span that is added next.  Whether it is kept, and means nothing to us. */
bool span_take(struct span_input *in, struct record_span *span, struct view key,
	       const struct span_value *value);

/*
 * For formats whose attributes are bytes in a row: those of the one that was
 * taken last.  If another span has the same bytes in that place, they need not
 * be read again; whether they are, and were taken.
 */
void span_keep(struct span_input *in, struct view bytes);
bool span_take_same(struct span_input *in, struct view bytes);

/* The same for how it ended, as OTLP has it. */
void span_take_status(struct span_input *in, struct record_span *span, uint32_t status,
		      struct view message);

/* By a name in any form: SERVER, server, SPAN_KIND_SERVER.  SPAN_UNSPECIFIED, if it is none. */
enum span_kind span_kind_of(struct view name);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_input - the base of all readers of spans.
 *
 *	struct span_input *in = span_input_new(&zipkin_format, name);
 *	span_add_tag(in, &span, key, &value);		for each attribute of a span, then
 *	span_input_add(in, &span, &owner, operation);	the span,
 *	span_input_skip(in, "has no id");		or this
 *	*ret = span_input_finish(in);
 *
 * A file is read as a whole, since its spans are in any order and records are ordered
 * by their end.  Incomplete spans are skipped and counted; the warning contains their
 * number and the reason for the first one.
 *
 * The attributes (tags) of a span become records of their own, before that of the
 * span.  A few attributes of the span, or of the process that created it (its owner),
 * have a meaning here; the formats encode them in different ways:
 *
 * - service.name, process.pid (or pid): the service and the process.
 * - k8s.node.name, host.name (or hostname): the host, by the name that its kernel
 *   uses.  In a container, host.name is the name of the container, so the name of the
 *   node has priority.  host.id is not a name and is ignored: a span without a host
 *   name belongs to the only host, if there is just one.
 * - thread.native_id (as .NET writes it), sonde.tid: the id of the thread, as the
 *   kernel numbers it.  The meaning of thread.id depends on the language: Java and .NET
 *   number their threads themselves, Python writes an address.
 * - error, otel.status_code: whether the span failed.
 * - span.kind (Jaeger): server, client, and so on.
 *
 * Attributes that the record of the span contains are not repeated.  The status of
 * OTLP becomes the attributes otel.status_code, if it is OK, and
 * otel.status_description, as in formats without a status.
 */
#ifndef SONDE_READ_SPAN_INPUT_H
#define SONDE_READ_SPAN_INPUT_H

#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "base/view.h"
#include "read/input_internal.h"
#include "read/span/value.h"
#include "read/time_sort.h"

/* An attribute of a span. */
struct span_tag {
	uint64_t value; /* encoded as in struct record_attribute */
	str_id key;
	uint8_t type; /* enum attribute_type */
};

/* An interned string. */
struct span_string {
	struct view text; /* borrowed from the string table */
	str_id id;
};

/* An encoded attribute, and the result of decoding it. */
struct span_cached_tag {
	struct view bytes; /* borrowed from the file while it is read */
	struct span_tag tag;
};

struct span_entry {
	struct record_span record;
	str_id host;
	uint32_t tag_count;
	uint64_t first_tag;
};

enum { SPAN_RECENT = 16 };

struct span_input {
	struct input input;
	char *name; /* of the file, for messages */
	struct strtab *strings;
	VEC(struct span_entry) spans;      /* in file order */
	VEC(struct span_tag) tags;         /* in file order */
	struct time_sort_item *order;      /* of the records; NULL if it is file order */
	size_t next;                       /* position in that order */
	uint32_t tags_returned;            /* of the span there */
	struct record_attribute attribute; /* returned last */
	uint64_t tags_added;               /* tags of the spans that were added */
	/*
	 * The last attribute at each position in a span, since most spans have the same keys in the
	 * same order.
	 */
	struct span_string recent_keys[SPAN_RECENT], recent_values[SPAN_RECENT];
	struct span_cached_tag recent_tags[SPAN_RECENT];
	struct span_text_buffer text;
	uint64_t skipped, unfinished; /* number of spans */
	char first_skipped[128];      /* reason */
	const char *truncation;       /* what is missing at the end of the file; NULL if complete */
};

struct span_input *span_input_new(const struct input_format *format, const char *name);

/* A span of an SDK with all other fields empty. */
static inline struct record_span span_empty(void)
{
	return (struct record_span){ .head = { .kind = RECORD_SPAN,
					       .words = sizeof(struct record_span) / 8 },
				     .source = SPAN_SDK };
}

str_id span_input_intern(struct span_input *in, struct view text);

/* The service, process and host that created spans. */
struct span_owner {
	str_id service, host;
	uint32_t pid;
	bool is_node; /* the host is the name of a node */
};

/* Adds a span with the tags that were added since the previous span. */
void span_input_add(struct span_input *in, struct record_span *span, const struct span_owner *owner,
		    struct view operation);
/* Counts a span that is not added; why: such as "has no id". */
void span_input_skip(struct span_input *in, const char *why);

/* Sorts the spans.  Returns `in` as an input. */
struct input *span_input_finish(struct span_input *in);

/* Functions for struct input_format. */
int span_input_next(struct input *input, const struct record **ret, struct err *err);
const char *span_input_string(const struct input *input, uint32_t id);
void span_input_free(struct input *input);

/* Maps the file while read() runs. */
int span_input_open(const char *path, open_memory_fn *read, struct input **ret, struct err *err);

/*
 * Reads the documents of a JSON file, calls finish(arg) unless it is NULL, and returns
 * `in` as an input; frees `in` if that fails.
 */
int span_input_read_json(struct span_input *in, struct view text, const struct json_reader *reader,
			 void (*finish)(void *arg), struct input **ret, struct err *err);

/* Sets start and end, in ns.  Returns NULL, or a reason for span_input_skip(). */
const char *span_set_times(struct record_span *span, uint64_t start, uint64_t end);

/* The same for an unfinished span: span_find_ends() sets its end. */
const char *span_set_unfinished(struct record_span *span, uint64_t start);

/* Called after the last span: sets the ends of unfinished spans, and returns their number. */
uint64_t span_find_ends(struct span_input *in);

static inline bool span_id_is_zero(const void *id, size_t size)
{
	static const uint8_t zero[16];

	return memcmp(id, zero, size) == 0;
}

/* Hash of a span id in the trace of this span, for maps. */
static inline uint64_t span_hash(const struct record_span *span, const uint8_t id[8])
{
	uint8_t ids[24];

	memcpy(ids, span->trace, 16);
	memcpy(ids + 16, id, 8);
	return hash_bytes(ids, sizeof(ids));
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
	SPAN_KEY_REBUILT, /* this and the following are in spans exported by sonde */
	SPAN_KEY_SONDE_TID,
	SPAN_KEY_OPEN,
	SPAN_KEY_FOLLOWS,
};
enum span_key span_key(struct view key);

/* Sets service, host or pid if this attribute contains it. */
void span_owner_set(struct span_input *in, struct span_owner *owner, struct view key,
		    const struct span_value *value);

/*
 * Adds an attribute to the span that is added next.  Returns whether it became a tag and set
 * nothing in the span, so that span_cache_tag() can be used.
 */
bool span_add_tag(struct span_input *in, struct record_span *span, struct view key,
		  const struct span_value *value);

/*
 * A cache for formats with attributes in consecutive bytes: span_cache_tag() stores the
 * bytes of the last tag.  If the next span has the same bytes at the same position,
 * span_add_cached_tag() adds the tag without decoding and returns true.
 */
void span_cache_tag(struct span_input *in, struct view bytes);
bool span_add_cached_tag(struct span_input *in, struct view bytes);

/* Adds the status of OTLP. */
void span_set_status(struct span_input *in, struct record_span *span, uint32_t status,
		     struct view message);

/* Accepts SERVER, server and SPAN_KIND_SERVER.  SPAN_UNSPECIFIED for other names. */
enum span_kind span_kind_of(struct view name);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/hold.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "otlp/splice.h"

enum {
	BYTES_MAX = 32 << 20,
	HEAP_OVERHEAD = 32, /* bytes that malloc() adds to a buffer, about */
};

/* An answer, or the lack of one. */
struct held_span {
	size_t offset;
	bool is_answered;
	struct pb_buffer bytes; /* attributes, then spans */
	size_t split;           /* size of the attributes */
};

struct held_request {
	struct pb_buffer body;
	uint64_t items;
	nsec_t deadline;
	size_t open;  /* spans without an answer */
	size_t bytes; /* memory: of itself, of the body and of its answers */
	VEC(struct held_span) spans;
};

struct hold {
	struct hold_options options;
	VEC(struct held_request) requests;
	size_t head;     /* index of the oldest one */
	uint64_t ticket; /* of the oldest one */
	size_t bytes;
};

struct hold *hold_new(const struct hold_options *options)
{
	struct hold *h = must_alloc(sizeof(*h));

	h->options = *options;
	h->options.bytes_max = options->bytes_max ?: BYTES_MAX;
	return h;
}

static void request_done(struct held_request *r)
{
	for (size_t i = 0; i < r->spans.count; i++)
		pb_buffer_done(&r->spans.items[i].bytes);
	vec_done(&r->spans);
	pb_buffer_done(&r->body);
}

void hold_free(struct hold *h)
{
	if (!h)
		return;
	for (size_t i = h->head; i < h->requests.count; i++)
		request_done(&h->requests.items[i]);
	vec_done(&h->requests);
	free(h);
}

bool hold_is_empty(const struct hold *h)
{
	return h->head == h->requests.count;
}

nsec_t hold_deadline(const struct hold *h)
{
	return hold_is_empty(h) ? UINT64_MAX : h->requests.items[h->head].deadline;
}

static struct view bytes_of(const struct pb_buffer *b)
{
	return (struct view){ (const char *)b->data, b->size };
}

/* The request with what was answered so far.  Returns the number of annotated spans. */
static uint64_t insert(const struct held_request *r, struct pb_buffer *ret)
{
	/* InstrumentationScope: name */
	static const char scope[] = "\x0a\x05sonde";
	VEC(struct otlp_insert) inserts = { 0 };

	for (size_t i = 0; i < r->spans.count; i++) {
		const struct held_span *s = &r->spans.items[i];
		struct view both = bytes_of(&s->bytes);

		if (both.len)
			*vec_push(&inserts) = (struct otlp_insert){
				.span = s->offset,
				.attributes = { both.s, s->split },
				.spans = { both.s + s->split, both.len - s->split },
			};
	}

	uint64_t count = inserts.count;

	if (count)
		otlp_splice(bytes_of(&r->body),
			    &(struct otlp_inserts){ .items = inserts.items,
						    .count = count,
						    .scope = { scope, strlen(scope) } },
			    ret);
	vec_done(&inserts);
	return count;
}

static void release_head(struct hold *h)
{
	struct held_request *r = &h->requests.items[h->head];
	struct pb_buffer annotated = { 0 };
	uint64_t count = insert(r, &annotated), items = r->items;

	h->bytes -= r->bytes;
	if (!count) {
		annotated = r->body;
		r->body = (struct pb_buffer){ 0 };
	}
	request_done(r);
	h->head++;
	h->ticket++;
	if (hold_is_empty(h) || h->head > 1024) {
		vec_drop_first(&h->requests, h->head);
		h->head = 0;
	}
	h->options.release(h->options.arg, &annotated, items, count);
}

uint64_t hold_add(struct hold *h, struct view request, uint64_t items, const size_t *offsets,
		  size_t count, nsec_t deadline)
{
	struct held_request r = { .items = items, .deadline = deadline, .open = count };

	pb_append(&r.body, request);
	for (size_t i = 0; i < count; i++)
		*vec_push(&r.spans) = (struct held_span){ .offset = offsets[i] };
	r.bytes = HEAP_OVERHEAD + sizeof(r) + r.body.capacity +
		  r.spans.room * sizeof(r.spans.items[0]);
	*vec_push(&h->requests) = r;
	h->bytes += r.bytes;

	uint64_t ticket = h->ticket + (h->requests.count - 1 - h->head);

	while (h->bytes > h->options.bytes_max && !hold_is_empty(h))
		release_head(h);
	return ticket;
}

bool hold_annotate(struct hold *h, uint64_t ticket, uint32_t index, struct view attributes,
		   struct view spans)
{
	size_t at = h->head + (ticket - h->ticket);

	if (ticket < h->ticket || at >= h->requests.count)
		return false; /* it has left */

	struct held_request *r = &h->requests.items[at];
	struct held_span *s = index < r->spans.count ? &r->spans.items[index] : NULL;

	if (!s || s->is_answered)
		return false;
	s->is_answered = true;
	s->split = attributes.len;
	pb_append(&s->bytes, attributes);
	pb_append(&s->bytes, spans);
	r->open--;

	size_t bytes = s->bytes.capacity ? HEAP_OVERHEAD + s->bytes.capacity : 0;

	r->bytes += bytes;
	h->bytes += bytes;
	return true;
}

void hold_run(struct hold *h, nsec_t now)
{
	while (!hold_is_empty(h)) {
		const struct held_request *r = &h->requests.items[h->head];

		if (r->open && r->deadline > now)
			break;
		release_head(h);
	}
}

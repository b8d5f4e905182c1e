/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/export_queue.h"

/* What the allocator adds to a block, roughly. */
enum { BLOCK_OVERHEAD = 32 };

void export_queue_done(struct export_queue *queue)
{
	export_queue_drop(queue, export_queue_count(queue));
	vec_done(&queue->all);
	queue->first = 0;
}

/* The array of the queue can have twice the room it needs. */
size_t export_queue_charge(const struct pb_buffer *body)
{
	return body->size + BLOCK_OVERHEAD + 2 * sizeof(struct queued_export);
}

void export_queue_add(struct export_queue *queue, struct pb_buffer *body, uint64_t items,
		      nsec_t now)
{
	if (body->capacity > body->size) {
		body->data = must_realloc(body->data, body->size);
		body->capacity = body->size;
	}
	queue->charge += export_queue_charge(body);
	*vec_push(&queue->all) =
		(struct queued_export){ .body = *body, .items = items, .time = now };
	*body = (struct pb_buffer){ 0 };
}

static void append(struct pb_buffer *out, const struct pb_buffer *body)
{
	memcpy(out->data + out->size, body->data, body->size);
	out->size += body->size;
}

size_t export_queue_merge(const struct export_queue *queue, size_t limit, struct pb_buffer *out)
{
	const struct queued_export *head = &queue->all.items[queue->first];
	size_t count = 1, total = head->body.size;

	while (count < export_queue_count(queue) && !head[count].starts_group &&
	       head[count].body.size <= limit && total <= limit - head[count].body.size)
		total += head[count++].body.size;
	if (out->capacity - out->size < total) {
		out->capacity = out->size + total;
		out->data = must_realloc(out->data, out->capacity);
	}
	for (size_t i = 0; i < count; i++)
		append(out, &head[i].body);
	return count;
}

void export_queue_split(struct export_queue *queue, size_t count)
{
	struct queued_export *head = &queue->all.items[queue->first];

	head[count / 2].starts_group = true;
	if (count < export_queue_count(queue))
		head[count].starts_group = true;
}

struct export_sum export_queue_drop(struct export_queue *queue, size_t count)
{
	struct export_sum sum = { .requests = count };

	for (size_t i = 0; i < count; i++) {
		struct queued_export *e = &queue->all.items[queue->first++];

		sum.items += e->items;
		queue->charge -= export_queue_charge(&e->body);
		pb_buffer_done(&e->body);
	}
	/* moving the rest when it is the smaller part costs constant time per request */
	if (queue->first > queue->all.count / 2) {
		vec_drop_first(&queue->all, queue->first);
		queue->first = 0;
	}
	return sum;
}

struct export_sum export_queue_expire(struct export_queue *queue, nsec_t time)
{
	size_t count = 0;

	while (count < export_queue_count(queue) &&
	       queue->all.items[queue->first + count].time < time)
		count++;
	return export_queue_drop(queue, count);
}

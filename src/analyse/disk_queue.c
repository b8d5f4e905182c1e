/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/disk_queue.h"

/* ns; I/O is found by its end, up to this long after the last step. */
#define LONGEST_IO NSEC_PER_SEC

static int by_start(const void *a, const void *b)
{
	const struct block_io *x = *(const struct block_io *const *)a;
	const struct block_io *y = *(const struct block_io *const *)b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

void disk_queue_init(struct disk_queue *queue, const struct timeline *timeline, nsec_t from,
		     nsec_t to)
{
	*queue = (struct disk_queue){ .timeline = timeline };
	TIMELINE_EACH_BETWEEN(struct block_io, r, timeline, from, to + LONGEST_IO)
	{
		if (r->start < to)
			*vec_push(&queue->started) = r;
	}
	if (queue->started.count)
		qsort(queue->started.items, queue->started.count, sizeof(queue->started.items[0]),
		      by_start);
}

void disk_queue_done(struct disk_queue *queue)
{
	vec_done(&queue->started);
	vec_done(&queue->current);
}

void disk_queue_move(struct disk_queue *queue, nsec_t from, nsec_t to)
{
	size_t kept = 0;

	if (from < queue->at)
		queue->next = queue->current.count = 0;
	queue->at = from;
	for (; queue->next < queue->started.count; queue->next++) {
		const struct block_io *r = queue->started.items[queue->next];

		if (r->start >= to)
			break;
		*vec_push(&queue->current) = r;
	}
	for (size_t i = 0; i < queue->current.count; i++)
		if (queue->current.items[i]->end > from)
			queue->current.items[kept++] = queue->current.items[i];
	queue->current.count = kept;
}

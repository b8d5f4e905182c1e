/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/byte_sums.h"

#include "base/search.h"

void byte_sums_done(struct byte_sums *sums)
{
	for (size_t i = 0; i < sums->threads.count; i++) {
		vec_done(&sums->threads.items[i].sent);
		vec_done(&sums->threads.items[i].received);
		vec_done(&sums->threads.items[i].disk);
	}
	vec_done(&sums->threads);
	map_done(&sums->index);
}

static void add(byte_sum_list *list, nsec_t time, uint64_t bytes)
{
	uint64_t before = list->count ? list->items[list->count - 1].bytes : 0;

	*vec_push(list) = (struct byte_sum){ time, before + bytes };
}

static void read_thread(const struct model *model, thread_id id, struct thread_bytes *ret)
{
	struct timeline *const *timelines = model_thread(model, id)->timelines;

	TIMELINE_EACH_BETWEEN(struct message, m, timelines[TIMELINE_MESSAGES], 0, UINT64_MAX)
	add(m->direction == MESSAGE_SEND ? &ret->sent : &ret->received, m->time, m->bytes);
	TIMELINE_EACH_BETWEEN(struct block_io, r, timelines[TIMELINE_BLOCK_IO], 0, UINT64_MAX)
	add(&ret->disk, r->end, r->bytes);
}

static const struct thread_bytes *bytes_of(struct byte_sums *sums, const struct model *model,
					   thread_id thread)
{
	uint64_t *at = map_insert(&sums->index, thread.i);

	if (!*at) {
		struct thread_bytes *new = vec_push(&sums->threads);

		*new = (struct thread_bytes){ 0 };
		read_thread(model, thread, new);
		*at = sums->threads.count;
	}
	return &sums->threads.items[*at - 1];
}

static uint64_t sum_before(const byte_sum_list *list, nsec_t t)
{
	size_t after = partition_point(list->count, i, list->items[i].time < t);

	return after ? list->items[after - 1].bytes : 0;
}

static uint64_t sum_between(const byte_sum_list *list, nsec_t from, nsec_t to)
{
	return sum_before(list, to) - sum_before(list, from);
}

void byte_sums_add(struct byte_sums *sums, const struct model *model, thread_id thread, nsec_t from,
		   nsec_t to, uint64_t *network, uint64_t *disk)
{
	const struct thread_bytes *bytes = bytes_of(sums, model, thread);

	*network += sum_between(&bytes->sent, from + 1, to + 1) +
		    sum_between(&bytes->received, from, to);
	*disk += sum_between(&bytes->disk, from, to);
}

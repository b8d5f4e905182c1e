/* SPDX-License-Identifier: Apache-2.0 */
#include "report/info.h"

#include <sys/stat.h>

#include "report/census.h"
#include "report/kind.h"

static void count_state(struct info *info, unsigned letter, nsec_t start, nsec_t end)
{
	if (end <= start)
		return;
	struct info_state *state = &info->states[letter & 127];
	state->count++;
	state->time += end - start;
}

static void count_run(struct info *info, const struct record_run *r)
{
	if (r->flags & INTERVAL_NEIGHBOUR)
		return;
	count_state(info, STATE_RUNNING, r->start, r->head.time);
	info->irq += r->irq;
}

static void count_wait(struct info *info, const struct record_wait *r)
{
	count_state(info, r->state, r->start, r->woken);
	count_state(info, r->ready, r->woken, r->head.time);
}

static void count_loss(struct info *info, const struct record_loss *r)
{
	info->lost += r->count;
	*vec_push(&info->losses) = (struct info_loss){ r->head.cpu, r->start, r->end, r->count };
}

static void count_record(struct info *info, const struct record *record)
{
	if (kind_name(record->kind))
		info->records[record->kind]++;
	else
		info->unknown++;
	if (record->time > info->end)
		info->end = record->time;
	if (record->kind == RECORD_RUN)
		count_run(info, (const void *)record);
	else if (record->kind == RECORD_WAIT)
		count_wait(info, (const void *)record);
	else if (record->kind == RECORD_LOSS)
		count_loss(info, (const void *)record);
}

static int count_records(struct info *info, const struct capture *cap, struct err *err)
{
	_cleanup_(census_done) struct census census = { 0 };
	struct capture_cursor cursor;
	const struct record *record;
	int r;

	capture_cursor_init(&cursor, cap, 0, UINT64_MAX);
	while ((r = capture_next(&cursor, &record, err)) > 0) {
		info->total++;
		count_record(info, record);
		census_feed(&census, record);
	}
	info->unknown += cursor.unknown;
	info->total += cursor.unknown;
	info->threads = census.threads;
	info->processes = census.processes;
	info->neighbours = census.neighbours;
	return r;
}

int info_read(struct info *info, const char *file, const struct capture *cap, struct err *err)
{
	struct stat st = { 0 };

	stat(file, &st);
	*info = (struct info){ .file = file, .size = st.st_size, .meta = capture_meta(cap) };
	info->end = info->meta->start;
	info->complete = capture_complete(cap, &info->cut_at);

	int r = count_records(info, cap, err);
	if (r < 0) {
		info->damage = *err;
		info->complete = false;
	}
	return r;
}

void info_done(struct info *info)
{
	vec_done(&info->losses);
}

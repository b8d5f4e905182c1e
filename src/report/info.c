/* SPDX-License-Identifier: Apache-2.0 */
#include "report/info.h"

#include <string.h>

#include "base/hash.h"
#include "event/times.h"
#include "event/kind.h"

void info_init(struct info *info, const struct info_origin *origin)
{
	*info = (struct info){ .origin = *origin, .begin = origin->start, .end = origin->start };
	info->service_names = strtab_new();
}

void info_done(struct info *info)
{
	free(info->warnings);
	thread_counts_done(&info->counts);
	vec_done(&info->losses);
	map_done(&info->traces);
	strtab_free(info->service_names);
	vec_done(&info->services);
}

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
	if (r->flags & INTERVAL_OUT_OF_SCOPE)
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
	uint64_t *count = r->head.tid ? &info->lost_by_agents : &info->lost;

	if (__builtin_add_overflow(*count, r->count, count))
		*count = UINT64_MAX;
	info->lost_packets += loss_packets(r);
	*vec_push(&info->losses) = (struct info_loss){ r->head.cpu, r->head.tid, r->start,
						       r->end,      r->count,    loss_packets(r) };
}

static bool is_root(const struct record_span *r)
{
	static const __u8 none[8];

	return memcmp(r->parent, none, sizeof(none)) == 0;
}

static void count_span(struct info *info, const struct source *source, const struct record_span *r)
{
	str_id service = strtab_add(info->service_names, source_string(source, r->service));

	while (info->services.count <= service.i)
		*vec_push(&info->services) = (struct info_service){ 0, 0 };
	info->services.items[service.i].spans++;

	uint64_t *roots = map_insert(&info->traces, hash_bytes(r->trace, sizeof(r->trace)));

	if (is_root(r) && ++*roots == 2)
		info->multi_root_traces++;
	if (r->flags & SPAN_ERROR) {
		info->services.items[service.i].errors++;
		info->span_errors++;
	}
}

/* An input without a start time starts with its first record. */
static void extend_range(struct info *info, const struct record *record)
{
	nsec_t start = record_start(record);

	if (!info->origin.start && (info->total == 1 || start < info->begin))
		info->begin = start;
	if (record->time > info->end)
		info->end = record->time;
	if (kind_has_cpu(record->kind) && record->cpu >= info->cpus)
		info->cpus = record->cpu + 1;
}

/* Ignore counters of later versions. */
static void count_counter(struct info *info, const struct record_counter *r)
{
	if (r->counter < COUNTER_READ)
		info->counters.n[r->counter] += r->count;
}

void info_add(struct info *info, const struct source *source, const struct record *record)
{
	info->total++;
	info->is_piece = info->is_piece || (info->total == 1 && record->kind == RECORD_EPOCH);
	info->records[record->kind]++;
	extend_range(info, record);
	thread_counts_add(&info->counts, record);
	if (record->kind == RECORD_RUN)
		count_run(info, (const void *)record);
	else if (record->kind == RECORD_WAIT)
		count_wait(info, (const void *)record);
	else if (record->kind == RECORD_LOSS)
		count_loss(info, (const void *)record);
	else if (record->kind == RECORD_SPAN)
		count_span(info, source, (const void *)record);
	else if (record->kind == RECORD_COUNTER)
		count_counter(info, (const void *)record);
}

void info_finish(struct info *info, uint64_t events, const char *warning, const struct err *damage)
{
	info->events = events;
	if (info->origin.is_capture && events > info->total) {
		info->unknown = events - info->total;
		info->total = events;
	}
	info->counters.n[COUNTER_READ] = info->total - info->records[RECORD_COUNTER];
	info->counters.n[COUNTER_SPANS_READ] = info->records[RECORD_SPAN];
	if (warning)
		info->warnings = must_strdup(warning);
	if (damage)
		info->damage = *damage;
}

nsec_t info_realtime(const struct info *info)
{
	nsec_t time = info->begin + (uint64_t)info->origin.realtime_offset;

	return info->origin.has_realtime && time <= INT64_MAX ? time : 0;
}

const char *info_warning(const struct info *info, size_t i, size_t *ret_len)
{
	const char *at = info->warnings ? info->warnings : "";

	for (;;) {
		size_t len = strcspn(at, "\n");

		if (len && i-- == 0) {
			*ret_len = len;
			return at;
		}
		if (!at[len])
			return NULL;
		at += len + 1;
	}
}

static int more_spans_first(const void *a, const void *b, void *arg)
{
	const struct info_service *services = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (services[x].spans != services[y].spans)
		return services[x].spans > services[y].spans ? -1 : 1;
	return x < y ? -1 : x > y;
}

uint32_t *info_services(const struct info *info)
{
	uint32_t *ids = must_alloc((info->services.count + 1) * sizeof(*ids));

	for (size_t i = 0; i < info->services.count; i++)
		ids[i] = i;
	qsort_r(ids, info->services.count, sizeof(*ids), more_spans_first, info->services.items);
	return ids;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/lost.h"

#include "base/map.h"

static void add(struct lost *sum, struct lost more)
{
	sum->records += more.records;
	sum->losses += more.losses;
}

struct lost lost_of_span(const struct model *model, const struct span *span)
{
	struct lost lost = model_lost_on_host(model, span->host, span->start, span->end);

	if (span->pid)
		add(&lost,
		    model_lost_in_process(model, span->host, span->pid, span->start, span->end));
	return lost;
}

static uint16_t step_host(const struct span_set *spans, const struct step *step)
{
	return step->thread.i ? model_thread(spans->model, step->thread)->host
			      : span_set_at(spans, step->span)->host;
}

static uint32_t step_pid(const struct span_set *spans, const struct step *step)
{
	return step->thread.i ? model_thread(spans->model, step->thread)->pid
			      : span_set_at(spans, step->span)->pid;
}

struct lost lost_of_step(const struct span_set *spans, const struct step *step)
{
	const struct model *model = spans->model;
	uint16_t host = step_host(spans, step);

	if (step->thread.i && step->state == STATE_RUNNING)
		return model_lost_on_cpu(model, host, step->cpu, step->start, step->end);
	return model_lost_on_host(model, host, step->start, step->end);
}

/* Adds the losses of a host or process, once. */
static void add_once(struct lost *sum, struct map *seen, uint64_t key, struct lost more)
{
	uint64_t *known = map_insert(seen, key);

	if (!*known)
		add(sum, more);
	*known = 1;
}

struct lost lost_of_path(const struct span_set *spans, const struct path *path, nsec_t from,
			 nsec_t to)
{
	const struct model *model = spans->model;
	struct map seen = { 0 };
	struct lost sum = { 0 };

	if (!model_loss_count(model))
		return sum;
	for (size_t i = 0; i < path->steps.count; i++) {
		uint16_t host = step_host(spans, &path->steps.items[i]);
		uint32_t pid = step_pid(spans, &path->steps.items[i]);
		uint64_t key = (uint64_t)host << 32;

		add_once(&sum, &seen, key, model_lost_on_host(model, host, from, to));
		if (pid)
			add_once(&sum, &seen, key | pid,
				 model_lost_in_process(model, host, pid, from, to));
	}
	map_done(&seen);
	return sum;
}

struct lost lost_of_tree(const struct span_set *spans, span_id root)
{
	const struct model *model = spans->model;
	const struct span *whole = span_set_at(spans, root);
	struct map seen = { 0 };
	struct lost sum = { 0 };

	if (!model_loss_count(model))
		return sum;
	for (span_id at = root; at.i; at = span_set_next(spans, root, at)) {
		const struct span *span = span_set_at(spans, at);
		uint64_t key = (uint64_t)span->host << 32;

		add_once(&sum, &seen, key,
			 model_lost_on_host(model, span->host, whole->start, whole->end));
		if (span->pid)
			add_once(&sum, &seen, key | span->pid,
				 model_lost_in_process(model, span->host, span->pid, whole->start,
						       whole->end));
	}
	map_done(&seen);
	return sum;
}

struct lost lost_of_request_span(const struct model *model, const struct request_span *span)
{
	return model_lost_on_host(model, model_thread(model, span->thread)->host, span->start,
				  span->end);
}

struct lost lost_of_request(const struct model *model, const struct requests *requests,
			    uint32_t root)
{
	const struct request_span *spans = requests->spans.items;
	struct map seen = { 0 };
	struct lost sum = { 0 };

	if (!model_loss_count(model))
		return sum;
	for (uint32_t at = root; at; at = requests_next(requests, root, at, NULL)) {
		uint16_t host = model_thread(model, spans[at].thread)->host;

		add_once(&sum, &seen, host,
			 model_lost_on_host(model, host, spans[root].start, spans[root].end));
	}
	map_done(&seen);
	return sum;
}

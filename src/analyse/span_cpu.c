/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/span_cpu.h"

/* Adds an interval from start to end to the sum, if its thread runs. */
static void add(nsec_t *sum, const struct interval *interval, nsec_t start, nsec_t end)
{
	if (start >= end || interval->state == STATE_GAP)
		return;
	if (*sum == CPU_UNKNOWN)
		*sum = 0;
	if (interval->state == STATE_RUNNING)
		*sum += end - start;
}

/* Merges the contexts and the intervals of a thread. */
static void add_thread(const struct model *model, thread_id id, nsec_t *cpu)
{
	struct context_stretch c;
	struct stretch s;
	bool more = model_context_from(model, id, 0, &c) &&
		    model_stretch_at(model, id, model_thread(model, id)->begin, &s);

	while (more) {
		span_id span = model_span_ref(model, c.context.ref)->span;

		if (span.i)
			add(&cpu[span.i], &s.interval,
			    c.context.start > s.interval.start ? c.context.start : s.interval.start,
			    c.end < s.end ? c.end : s.end);
		more = c.end < s.end ? model_context_next(model, id, &c)
				     : model_stretch_next(model, id, &s);
	}
}

nsec_t *span_cpu_find(const struct model *model)
{
	nsec_t *cpu = must_alloc(model_span_count(model) * sizeof(*cpu));

	for (size_t i = 0; i < model_span_count(model); i++)
		cpu[i] = CPU_UNKNOWN;
	for (uint32_t i = 1; i < model_thread_count(model); i++)
		add_thread(model, (thread_id){ i }, cpu);
	return cpu;
}

nsec_t span_cpu_between(const struct model *model, thread_id thread, nsec_t from, nsec_t to)
{
	nsec_t begin = model_thread(model, thread)->begin, cpu = CPU_UNKNOWN;
	struct stretch s;

	from = from > begin ? from : begin;
	for (bool more = model_stretch_at(model, thread, from, &s); more && s.interval.start < to;
	     more = model_stretch_next(model, thread, &s))
		add(&cpu, &s.interval, s.interval.start > from ? s.interval.start : from,
		    s.end < to ? s.end : to);
	return cpu;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/wakeup_attributes.h"

#include "event/sched_policy.h"

static void put_priority(struct otlp_put *put, const char *key, const struct thread *thread)
{
	otlp_put_text(put, key, sched_priority_text(thread->policy, thread->priority).s);
}

void wakeup_attributes_put(struct otlp_put *put, const struct wakeup_latency *latency)
{
	thread_id other = wakeup_latency_cpu_thread(put->model, latency);
	const struct thread *thread = model_thread(put->model, other);

	if (!latency->count)
		return;
	otlp_put_int(put, "sonde.wakeup.count", latency->count);
	otlp_put_int(put, "sonde.wakeup.mean", wakeup_latency_mean(latency));
	otlp_put_int(put, "sonde.wakeup.max", latency->max);
	put_priority(put, "sonde.wakeup.priority", model_thread(put->model, latency->thread));
	if (!other.i)
		return;
	otlp_put_text(put, "sonde.wakeup.cpu_thread", model_string(put->model, thread->comm));
	otlp_put_int(put, "sonde.wakeup.cpu_pid", thread->pid);
	put_priority(put, "sonde.wakeup.cpu_priority", thread);
}

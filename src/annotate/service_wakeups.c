/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/service_wakeups.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/wakeup_latency.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/out.h"
#include "base/sort.h"
#include "report/export/otlp_put.h"

enum { PROCESSES_MAX = 4096 };

/* After so long without a request, a process is dropped. */
#define PROCESS_IDLE (5 * 60 * NSEC_PER_SEC)

/* The wake-ups of one second; the longest as values, because they outlive the model's window. */
struct second {
	uint64_t number; /* of the second, from the clock */
	uint64_t count;
	nsec_t total;
	struct service_latency longest; /* only max and the cpu_ fields are used */
};

struct service {
	char name[SERVICE_NAME_SIZE]; /* "" if the slot is free */
	uint32_t processes;
	struct wakeup_latency batch; /* of the current batch */
	struct second seconds[SERVICE_SECONDS];
};

struct service_process {
	uint32_t pid;
	uint32_t service; /* index */
	nsec_t used;      /* time of its last request */
	bool is_rebuilt;  /* the name is that of the process, as no span of it is known */
};

struct service_wakeups {
	struct service services[SERVICES_MAX];
	struct map names; /* hash of a name -> index + 1 */
	VEC(struct service_process) processes;
	struct map pids; /* pid -> index + 1 in `processes` */
	nsec_t until;    /* up to here, wake-ups are counted */
	uint64_t now;    /* number of the current second */
	uint64_t omitted;
};

struct service_wakeups *service_wakeups_new(void)
{
	return must_alloc(sizeof(struct service_wakeups));
}

void service_wakeups_free(struct service_wakeups *s)
{
	if (!s)
		return;
	map_done(&s->names);
	map_done(&s->pids);
	vec_done(&s->processes);
	free(s);
}

uint64_t service_wakeups_omitted(const struct service_wakeups *s)
{
	return s->omitted;
}

/* Copies as much of a text as fits, in whole characters of valid UTF-8. */
static void copy_name(char to[SERVICE_NAME_SIZE], const char *from)
{
	struct clean_text clean = { 0 };
	struct view text = clean_text(&clean, from);
	size_t length = 0, n;

	while (length < text.len && (n = utf8_length(text.s + length, text.len - length)) &&
	       length + n < SERVICE_NAME_SIZE)
		length += n;
	memset(to, 0, SERVICE_NAME_SIZE);
	memcpy(to, text.s, length);
	vec_done(&clean.bytes);
}

/* The service with this name, a new one if needed; NULL if there are too many. */
static struct service *service_of(struct service_wakeups *s, const char name[SERVICE_NAME_SIZE])
{
	uint64_t key = hash_bytes(name, SERVICE_NAME_SIZE);
	const uint64_t *at = map_find(&s->names, key);

	if (at)
		return &s->services[*at - 1];
	for (size_t i = 0; i < SERVICES_MAX; i++)
		if (!s->services[i].name[0]) {
			*map_insert(&s->names, key) = i + 1;
			memcpy(s->services[i].name, name, SERVICE_NAME_SIZE);
			return &s->services[i];
		}
	return NULL;
}

static void leave_service(struct service_wakeups *s, uint32_t index)
{
	struct service *service = &s->services[index];

	if (--service->processes)
		return;
	map_remove(&s->names, hash_bytes(service->name, SERVICE_NAME_SIZE));
	*service = (struct service){ 0 };
}

/* The process has served a request of a service, which can be another one than before. */
static void add_process(struct service_wakeups *s, uint32_t pid, const char *name, bool is_rebuilt,
			nsec_t now)
{
	uint64_t *at = map_find(&s->pids, pid);
	struct service_process *process = at ? &s->processes.items[*at - 1] : NULL;
	char clean[SERVICE_NAME_SIZE];

	copy_name(clean, name);
	if (process && ((is_rebuilt && !process->is_rebuilt) ||
			memcmp(s->services[process->service].name, clean, sizeof(clean)) == 0)) {
		process->used = now;
		return;
	}

	struct service *service = clean[0] && (process || s->processes.count < PROCESSES_MAX)
					  ? service_of(s, clean)
					  : NULL;

	if (!service) {
		s->omitted += clean[0] != '\0';
		return;
	}
	service->processes++;
	if (process) {
		leave_service(s, process->service);
	} else {
		process = vec_push(&s->processes);
		*map_insert(&s->pids, pid) = s->processes.count;
	}
	*process = (struct service_process){
		.pid = pid, .service = service - s->services, .used = now, .is_rebuilt = is_rebuilt
	};
}

/* A consumer's span_ended: the services in the tree of a request. */
static void on_span(void *arg, const struct live_view *view, span_id root)
{
	struct service_wakeups *s = arg;

	for (span_id at = root; at.i; at = span_set_next(view->spans, root, at)) {
		const struct span *span = span_set_at(view->spans, at);
		uint32_t pid = span->thread.i ? model_thread(view->model, span->thread)->pid : 0;

		if (pid)
			add_process(s, pid, span_set_string(view->spans, span->service),
				    span->source == SPAN_INFERRED, view->now);
	}
}

/* The last one takes its place. */
static void drop_idle(struct service_wakeups *s, nsec_t now)
{
	for (size_t i = s->processes.count; i-- > 0;) {
		struct service_process *process = &s->processes.items[i];

		if (now - process->used < PROCESS_IDLE || now < process->used)
			continue;
		leave_service(s, process->service);
		map_remove(&s->pids, process->pid);
		*process = s->processes.items[--s->processes.count];
		if (i < s->processes.count)
			*map_insert(&s->pids, process->pid) = i + 1;
	}
}

static void add_wakeups(struct service_wakeups *s, const struct model *model, nsec_t now)
{
	for (uint32_t i = 1; i < model_thread_count(model); i++) {
		const struct thread *thread = model_thread(model, (thread_id){ i });
		const uint64_t *at = thread->forgotten || thread->out_of_scope
					     ? NULL
					     : map_find(&s->pids, thread->pid);

		if (at)
			wakeup_latency_add(model, (thread_id){ i }, s->until, now,
					   &s->services[s->processes.items[*at - 1].service].batch);
	}
}

static void describe_longest(const struct model *model, const struct wakeup_latency *batch,
			     struct service_latency *ret)
{
	thread_id id = wakeup_latency_cpu_thread(model, batch);
	const struct thread *thread = model_thread(model, id);

	*ret = (struct service_latency){ .max = batch->max };
	if (!id.i)
		return;
	copy_name(ret->cpu_thread, model_string(model, thread->comm));
	ret->cpu_pid = thread->pid;
	ret->cpu_policy = thread->policy;
	ret->cpu_priority = thread->priority;
}

/* Moves the sums of the batch into the current second. */
static void end_batch(struct service_wakeups *s, const struct model *model, struct service *service)
{
	struct second *second = &service->seconds[s->now % SERVICE_SECONDS];

	if (second->number != s->now)
		*second = (struct second){ .number = s->now };
	second->count += service->batch.count;
	second->total += service->batch.total;
	if (service->batch.max > second->longest.max)
		describe_longest(model, &service->batch, &second->longest);
	service->batch = (struct wakeup_latency){ 0 };
}

static void on_batch(void *arg, const struct live_view *view)
{
	struct service_wakeups *s = arg;

	if (s->until)
		add_wakeups(s, view->model, view->now);
	s->until = view->now;
	s->now = view->now / NSEC_PER_SEC;
	for (size_t i = 0; i < SERVICES_MAX; i++)
		if (s->services[i].name[0])
			end_batch(s, view->model, &s->services[i]);
	drop_idle(s, view->now);
}

struct consumer service_wakeups_consumer(struct service_wakeups *s)
{
	return (struct consumer){ .arg = s, .span_ended = on_span, .batch_ended = on_batch };
}

static struct service_latency sum_of(const struct service *service, uint64_t now)
{
	struct service_latency sum = { 0 };
	nsec_t total = 0;

	for (size_t i = 0; i < SERVICE_SECONDS; i++) {
		const struct second *second = &service->seconds[i];

		if (second->number + SERVICE_SECONDS <= now || !second->count)
			continue;

		uint64_t count = sum.count + second->count;

		if (second->longest.max > sum.max)
			sum = second->longest;
		sum.count = count;
		total += second->total;
	}
	sum.mean = sum.count ? total / sum.count : 0;
	memcpy(sum.service, service->name, sizeof(sum.service));
	return sum;
}

size_t service_wakeups_list(const struct service_wakeups *s,
			    struct service_latency ret[SERVICES_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < SERVICES_MAX; i++)
		if (s->services[i].name[0])
			ret[count++] = sum_of(&s->services[i], s->now);
#define IS_BEFORE(a, b) (strcmp((a)->service, (b)->service) < 0)
	sort_items(ret, count, IS_BEFORE);
#undef IS_BEFORE
	return count;
}

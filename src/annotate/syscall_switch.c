/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/syscall_switch.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "annotate/own_time.h"
#include "base/vec.h"
#include "record/verb.h"

enum { OPERATION_PROCESSES = 16 };

struct slow_operation {
	uint64_t key;             /* hash of service and name */
	nsec_t slow[SWITCH_SLOW]; /* times of the last slow spans, the newest first; 0: none */
	nsec_t on_until;          /* 0: not on */
	uint32_t pids[OPERATION_PROCESSES]; /* of the last slow spans, the newest first */
	uint32_t pid_count;
};

struct syscall_switch {
	enum switch_mode mode;
	bool is_forbidden;
	unsigned int recorder; /* to which verbs were sent */
	struct switch_state state;
	VEC(struct slow_operation) operations;
};

struct syscall_switch *syscall_switch_new(enum switch_mode mode)
{
	struct syscall_switch *s = must_alloc(sizeof(*s));

	s->mode = mode;
	return s;
}

void syscall_switch_free(struct syscall_switch *s)
{
	if (!s)
		return;
	vec_done(&s->operations);
	free(s);
}

static uint64_t key_of(const struct span_set *spans, const struct span *span)
{
	const char *service = span_set_string(spans, span->service);
	const char *operation = span_set_string(spans, span->operation);

	return XXH3_64bits_withSeed(operation, strlen(operation),
				    XXH3_64bits(service, strlen(service)));
}

/* The operation with a key, added if there is room; else NULL. */
static struct slow_operation *operation_of(struct syscall_switch *s, uint64_t key)
{
	for (size_t i = 0; i < s->operations.count; i++)
		if (s->operations.items[i].key == key)
			return &s->operations.items[i];
	if (s->operations.count == SWITCH_OPERATIONS)
		return NULL;

	struct slow_operation *added = vec_push(&s->operations);

	*added = (struct slow_operation){ .key = key };
	return added;
}

/* Moves a process to the front.  Whether it displaced another one. */
static bool add_process(struct slow_operation *o, uint32_t pid)
{
	uint32_t at = 0;
	bool is_full = false;

	while (at < o->pid_count && o->pids[at] != pid)
		at++;
	if (at == o->pid_count) {
		is_full = at == OPERATION_PROCESSES;
		at -= is_full;
		o->pid_count = at + 1;
	}
	memmove(&o->pids[1], o->pids, at * sizeof(o->pids[0]));
	o->pids[0] = pid;
	return is_full;
}

static void add_processes(struct syscall_switch *s, struct slow_operation *o,
			  const struct span_set *spans, span_id span)
{
	_cleanup_(own_times_done) struct own_times own = { 0 };
	bool is_full = false;

	own_times_find(spans, span, &own);
	for (size_t i = 0; i < own.items.count; i++) {
		const struct thread *thread = model_thread(spans->model, own.items.items[i].thread);

		if (thread->pid && (!o->pid_count || o->pids[0] != thread->pid))
			is_full |= add_process(o, thread->pid);
	}
	s->state.not_fit += is_full;
}

void syscall_switch_slow(struct syscall_switch *s, const struct span_set *spans, span_id span,
			 nsec_t now)
{
	if (s->mode != SWITCH_WHEN_SLOW)
		return;

	struct slow_operation *o = operation_of(s, key_of(spans, span_set_at(spans, span)));

	if (!o) {
		s->state.not_fit++;
		return;
	}
	memmove(&o->slow[1], o->slow, (SWITCH_SLOW - 1) * sizeof(o->slow[0]));
	o->slow[0] = now;
	add_processes(s, o, spans, span);

	nsec_t first = o->slow[SWITCH_SLOW - 1];

	if (o->on_until || (first && now - first <= SWITCH_TIME))
		o->on_until = now + SWITCH_TIME;
}

/* Drops operations without a slow span for so long. */
static void forget(struct syscall_switch *s, nsec_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->operations.count; i++)
		if (now - s->operations.items[i].slow[0] < SWITCH_TIME)
			s->operations.items[kept++] = s->operations.items[i];
	s->operations.count = kept;
}

static bool contains(const uint32_t *pids, size_t count, uint32_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* The processes of all operations that are slow; returns their number. */
static size_t find_wanted(const struct syscall_switch *s, nsec_t now, uint32_t *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < s->operations.count && !s->is_forbidden; i++) {
		const struct slow_operation *o = &s->operations.items[i];

		for (size_t k = 0; now < o->on_until && k < o->pid_count; k++)
			if (count < SWITCH_PROCESSES && !contains(ret, count, o->pids[k]))
				ret[count++] = o->pids[k];
	}
	return count;
}

static bool send(struct live *live, enum verb verb, uint32_t pid, bool on)
{
	return live_verb(live, &(struct verb_message){ verb, pid, on }) == 0;
}

static void set_all(struct syscall_switch *s, struct live *live)
{
	bool wanted = s->mode == SWITCH_ALWAYS && !s->is_forbidden;

	if (s->state.is_all != wanted && send(live, VERB_SYSCALLS_ALL, 0, wanted))
		s->state.is_all = wanted;
}

/* Off first, so that there is room. */
static void set_processes(struct syscall_switch *s, struct live *live, nsec_t now)
{
	struct switch_state *state = &s->state;
	uint32_t wanted[SWITCH_PROCESSES];
	size_t count = find_wanted(s, now, wanted);

	for (size_t i = state->pid_count; i-- > 0;)
		if (!contains(wanted, count, state->pids[i]) &&
		    send(live, VERB_SYSCALLS, state->pids[i], false))
			state->pids[i] = state->pids[--state->pid_count];
	for (size_t i = 0; i < count && state->pid_count < SWITCH_PROCESSES; i++) {
		if (contains(state->pids, state->pid_count, wanted[i]) ||
		    !send(live, VERB_SYSCALLS, wanted[i], true))
			continue;
		state->pids[state->pid_count++] = wanted[i];
		state->switched++;
	}
}

void syscall_switch_run(struct syscall_switch *s, struct live *live, nsec_t now)
{
	unsigned int recorder = live_recorder(live);

	if (recorder != s->recorder) {
		s->state.pid_count = s->state.is_all = 0;
		s->recorder = recorder;
	}
	if (!recorder)
		return;
	forget(s, now);
	set_all(s, live);
	set_processes(s, live, now);
}

void syscall_switch_forbid(struct syscall_switch *s, bool is_forbidden)
{
	s->is_forbidden = is_forbidden;
}

void syscall_switch_get_state(const struct syscall_switch *s, struct switch_state *ret)
{
	*ret = s->state;
}

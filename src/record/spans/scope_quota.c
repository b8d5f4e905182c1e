/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/scope_quota.h"

#define INTERVAL (NSEC_PER_SEC / SCOPE_QUOTA_RATE)

void scope_quota_done(struct scope_quota *q)
{
	map_done(&q->examined);
	map_done(&q->counts);
	map_done(&q->processes);
}

/* Each examination costs an interval; a user can be in debt for a burst. */
bool scope_quota_examine(struct scope_quota *q, uint32_t user, nsec_t now)
{
	const uint64_t *paid = map_find(&q->examined, user);
	nsec_t from = paid && *paid > now ? *paid : now;

	if (user == 0)
		return true;
	if (from - now > (SCOPE_QUOTA_BURST - 1) * INTERVAL ||
	    (!paid && q->examined.count >= SCOPE_QUOTA_USERS))
		return false;
	*map_insert(&q->examined, user) = from + INTERVAL;
	return true;
}

bool scope_quota_enter(struct scope_quota *q, uint32_t pid, uint32_t user)
{
	scope_quota_leave(q, pid); /* the pid was reused */

	const uint64_t *count = map_find(&q->counts, user);

	if (q->processes.count >= SCOPE_QUOTA_TOTAL ||
	    (user != 0 && count && *count >= SCOPE_QUOTA_USER))
		return false;
	*map_insert(&q->processes, pid) = user;
	++*map_insert(&q->counts, user);
	return true;
}

void scope_quota_leave(struct scope_quota *q, uint32_t pid)
{
	const uint64_t *user = map_find(&q->processes, pid);
	uint64_t *count = user ? map_find(&q->counts, *user) : NULL;

	if (!user)
		return;
	if (--*count == 0)
		map_remove(&q->counts, *user);
	map_remove(&q->processes, pid);
}

struct sweep {
	struct scope_quota *quota;
	nsec_t now;
	bool (*is_gone)(void *arg, uint32_t pid);
	void *arg;
};

static bool keep_process(void *arg, uint64_t pid, uint64_t *user)
{
	struct sweep *s = arg;
	bool is_gone = s->is_gone(s->arg, pid);

	if (is_gone && --*map_find(&s->quota->counts, *user) == 0)
		map_remove(&s->quota->counts, *user);
	return !is_gone;
}

static bool is_in_debt(void *arg, uint64_t user, uint64_t *paid)
{
	const struct sweep *s = arg;

	(void)user;
	return *paid > s->now;
}

void scope_quota_sweep(struct scope_quota *q, nsec_t now, bool (*is_gone)(void *arg, uint32_t pid),
		       void *arg)
{
	struct sweep s = { q, now, is_gone, arg };

	map_sweep(&q->processes, keep_process, &s);
	map_sweep(&q->examined, is_in_debt, &s);
}

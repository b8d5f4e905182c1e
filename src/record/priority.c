/* SPDX-License-Identifier: Apache-2.0 */
#include "record/priority.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include "record/clock.h"

#define CHECK_INTERVAL (200 * NSEC_PER_MSEC)

/* CPU time without a pause after which SIGXCPU ends the real-time policy. */
#define RUN_MAX (500 * NSEC_PER_MSEC)

/* Below the real-time threads of others. */
enum { REAL_TIME_LEVEL = 1, NICE_HIGHEST = -20 };

static bool set_policy(int policy)
{
	struct sched_param param = { policy == SCHED_RR ? REAL_TIME_LEVEL : 0 };

	return sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &param) == 0;
}

/* Signal handler; the calling thread is the one that ran for too long. */
static void end_real_time(int signal)
{
	(void)signal;
	set_policy(SCHED_OTHER);
}

/* The limits permit the thread to return to a real-time policy without privileges. */
void priority_raise(struct priority *p)
{
	struct rlimit level = { REAL_TIME_LEVEL, REAL_TIME_LEVEL };
	struct rlimit run = { RUN_MAX / NSEC_PER_USEC, RLIM_INFINITY };
	struct sigaction action = { .sa_handler = end_real_time, .sa_flags = SA_RESTART };

	*p = (struct priority){ .checked = clock_now(),
				.used = clock_read(CLOCK_THREAD_CPUTIME_ID) };
	if (sigaction(SIGXCPU, &action, NULL) < 0 || setrlimit(RLIMIT_RTTIME, &run) < 0)
		return;
	p->allowed = setrlimit(RLIMIT_RTPRIO, &level) == 0;
	setpriority(PRIO_PROCESS, 0, NICE_HIGHEST);
	p->real_time = set_policy(SCHED_RR);
	if (!p->real_time)
		set_policy(SCHED_OTHER);
}

void priority_check(struct priority *p, nsec_t now)
{
	if (!p->allowed || now - p->checked < CHECK_INTERVAL)
		return;

	nsec_t used = clock_read(CLOCK_THREAD_CPUTIME_ID);
	bool bounded = used - p->used <= (now - p->checked) / 2;

	if (bounded != p->real_time && set_policy(bounded ? SCHED_RR : SCHED_OTHER))
		p->real_time = bounded;
	p->checked = now;
	p->used = used;
}

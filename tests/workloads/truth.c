/* SPDX-License-Identifier: Apache-2.0 */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define TRACK_MAX 24
#define CALL_MAX 512

struct moment {
	uint64_t time, cpu, delay, voluntary, involuntary;
	int where; /* index of the CPU */
};

struct call {
	struct moment begin, end;
};

struct track {
	char role[24];
	pid_t pid, tid;
	int schedstat; /* descriptor, valid in the thread's process */
	unsigned count;
	struct call calls[CALL_MAX];
};

struct truth {
	const char *workload;
	pid_t pid;
	FILE *values;
	char *text;
	size_t size;
	_Atomic unsigned count;
	struct track tracks[TRACK_MAX];
};

static struct truth *truth; /* shared by all processes of the workload */

long must(long result, const char *what)
{
	if (result < 0) {
		fprintf(stderr, "%s: %s\n", what, strerror(errno));
		_exit(1);
	}
	return result;
}

unsigned long number_arg(int argc, char **argv, int i, unsigned long otherwise)
{
	return i < argc ? strtoul(argv[i], NULL, 0) : otherwise;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

void sleep_until(uint64_t time)
{
	struct timespec t = { (time_t)(time / 1000000000u), (long)(time % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

void truth_init(const char *workload)
{
	truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (truth == MAP_FAILED)
		must(-1, "mmap");
	truth->workload = workload;
	truth->pid = getpid();
	truth->values = open_memstream(&truth->text, &truth->size);
	/* a page fault from disk would be an unexpected wait */
	mlockall(MCL_CURRENT);
}

void truth_gate(void)
{
	char line[64];

	if (!getenv("TRUTH_GATE"))
		return;
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return;
}

struct track *track_new(const char *role)
{
	unsigned i = atomic_fetch_add(&truth->count, 1);

	if (i >= TRACK_MAX) {
		errno = E2BIG;
		must(-1, "tracks");
	}
	struct track *t = &truth->tracks[i];
	snprintf(t->role, sizeof(t->role), "%s", role);
	t->pid = getpid();
	t->tid = gettid();
	t->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	return t;
}

static uint64_t run_delay(const struct track *t)
{
	char text[96] = "";
	char *at = text;

	if (pread(t->schedstat, text, sizeof(text) - 1, 0) <= 0)
		return 0;
	strtoull(at, &at, 10); /* time on a CPU, but only as of the last tick */
	return strtoull(at, NULL, 10);
}

static void count_switches(struct moment *m)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	m->voluntary = (uint64_t)usage.ru_nvcsw;
	m->involuntary = (uint64_t)usage.ru_nivcsw;
}

static void take_moment(const struct track *t, struct moment *m)
{
	struct moment after;

	do {
		count_switches(m);
		m->delay = run_delay(t);
		m->cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		m->where = sched_getcpu();
		m->time = now();
		count_switches(&after);
	} while (after.voluntary != m->voluntary || after.involuntary != m->involuntary);
}

void call_begin(struct track *t)
{
	if (t->count == CALL_MAX) {
		errno = E2BIG;
		must(-1, "calls");
	}
	take_moment(t, &t->calls[t->count].begin);
}

void call_end(struct track *t)
{
	take_moment(t, &t->calls[t->count++].end);
}

void truth_add(const char *name, const char *fmt, ...)
{
	va_list args;

	fprintf(truth->values, ",\n \"%s\": ", name);
	va_start(args, fmt);
	vfprintf(truth->values, fmt, args);
	va_end(args);
}

void truth_add_list(const char *name, const int64_t *values, size_t count)
{
	fprintf(truth->values, ",\n \"%s\": [", name);
	for (size_t i = 0; i < count; i++)
		fprintf(truth->values, "%s%jd", i ? "," : "", (intmax_t)values[i]);
	fputs("]", truth->values);
}

static void print_call(const struct call *c, bool first)
{
	printf("%s\n   {\"begin\": %ju, \"end\": %ju, \"cpu\": %ju, \"delay\": %ju, "
	       "\"voluntary\": %ju, \"involuntary\": %ju, \"moved\": %s}",
	       first ? "" : ",", (uintmax_t)c->begin.time, (uintmax_t)c->end.time,
	       (uintmax_t)(c->end.cpu - c->begin.cpu), (uintmax_t)(c->end.delay - c->begin.delay),
	       (uintmax_t)(c->end.voluntary - c->begin.voluntary),
	       (uintmax_t)(c->end.involuntary - c->begin.involuntary),
	       c->begin.where == c->end.where ? "false" : "true");
}

void truth_print(void)
{
	printf("{\"workload\": \"%s\", \"pid\": %d,\n \"tracks\": [", truth->workload, truth->pid);
	for (unsigned i = 0; i < truth->count; i++) {
		const struct track *t = &truth->tracks[i];

		printf("%s\n  {\"role\": \"%s\", \"pid\": %d, \"tid\": %d, \"calls\": [",
		       i ? "," : "", t->role, t->pid, t->tid);
		for (unsigned j = 0; j < t->count; j++)
			print_call(&t->calls[j], !j);
		printf("]}");
	}
	fclose(truth->values);
	printf("]%s}\n", truth->text);
	fflush(stdout);
}

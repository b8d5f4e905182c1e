/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent - ns of the agent's operations in a program, and of probes on the same path.
 *
 * bench-agent CPU: for each line `OPERATION COUNT` on stdin, execute the operation
 * COUNT times and print the ns per operation.  Events go into rings of limited size,
 * so the caller pauses between lines to let the recorder read them.  The caches are
 * cold after that, so some untimed operations come first.
 */
#include "clock.h"

#include "agent/agent.h"
#include "agent/sonde.h"
#ifdef HAVE_LTTNG
#include "agent_lttng.h"
#endif

enum { WARM_UP = 16 };

static const uint8_t trace[16] = { 1, 2, 3 };
static const uint64_t spans[2] = { 11, 12 }; /* the ids of two */

/* The target of a uprobe: a nop, as in USDT. */
void bench_probe(const uint8_t *trace, const uint64_t *span);
__asm__(".text\n.globl bench_probe\n.type bench_probe, @function\nbench_probe:\n\tnop\n\tret\n"
	".size bench_probe, . - bench_probe\n");

static void do_attach(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		sonde_agent_set_context(trace, (const uint8_t *)&spans[i % 2], 1);
}

static void do_span(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		struct sonde_span span;

		SONDE_BEGIN(&span, "a span of the benchmark");
		sonde_end(&span);
	}
}

static void do_attributes(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		struct sonde_span span;

		SONDE_BEGIN(&span, "a span of the benchmark");
		sonde_set_string(&span, "http.method", "GET");
		sonde_set_int(&span, "http.status_code", 200);
		sonde_end(&span);
	}
}

static void do_off(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		struct sonde_span span;

		SONDE_BEGIN(&span, "off");
		sonde_end(&span);
	}
}

static void do_probe(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		bench_probe(trace, &spans[0]);
		bench_probe(trace, &spans[1]);
	}
}

#ifdef HAVE_LTTNG
static void do_lttng(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		lttng_ust_tracepoint(sonde_bench, begin, trace, spans[0], spans[1],
				     "a span of the benchmark");
		lttng_ust_tracepoint(sonde_bench, end, trace, spans[0]);
	}
}
#endif

static const struct {
	const char *name;
	void (*loop)(unsigned long);
} operations[] = {
	{ "attach", do_attach }, { "span", do_span },   { "attributes", do_attributes },
	{ "off", do_off },       { "probe", do_probe },
#ifdef HAVE_LTTNG
	{ "lttng", do_lttng },
#endif
};

static double time_loop(void (*loop)(unsigned long), unsigned long count)
{
	loop(WARM_UP);
	nsec_t start = clock_now(CLOCK_MONOTONIC);
	loop(count);
	return (double)(clock_now(CLOCK_MONOTONIC) - start) / (double)count;
}

int main(int argc, char **argv)
{
	char name[16];
	unsigned long count;

	if (argc != 2) {
		fprintf(stderr, "usage: bench-agent CPU\n");
		return 2;
	}
	pin_thread(atoi(argv[1]));
	setvbuf(stdout, NULL, _IOLBF, 0);
	sonde_set_enabled("off", false);
	while (scanf("%15s %lu", name, &count) == 2)
		for (size_t i = 0; i < ARRAY_LEN(operations); i++)
			if (!strcmp(name, operations[i].name))
				printf("%.2f\n", time_loop(operations[i].loop, count));
	return 0;
}

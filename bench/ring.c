/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring - the cost of each transport of ring.bpf.c, for writer and reader.
 *
 * Producers are threads, each on its own CPU, that only call getppid(), which
 * triggers the BPF programs.  A reader reads and copies the records every 5 ms, as
 * the recorder does; records do not wake it.  The cost of a record is the CPU time
 * of a call in the producer, minus that with a program that only filters; other
 * busy tasks affect CPU time little.
 *
 * Transports are measured in random order, and each measurement prints one line:
 *
 *	test, producers, transport, bytes, ns per call, reader's ns per record,
 *	records/s, produced, read, lost
 *
 * bench_ring.py makes a table of them.
 */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "clock.h"
#include "ring.h"
#include "ring.skel.h"

#define RING_BYTES (16u << 20) /* size of all rings together, in bytes */
#define TURN (NSEC_PER_SEC / 2)

struct transport {
	const char *name;
	uint32_t bytes; /* size of a record; 0 if none is written */
	struct ring_bpf *skel;
	struct bpf_program *program;
	struct ring_buffer *buffers; /* otherwise: */
	void *map;
	size_t stride; /* bytes from one CPU's ring to the next */
};

struct test {
	const char *name;
	uint32_t batch; /* records per call */
	uint32_t calls; /* calls per producer; 0 means half a second at this rate: */
	double rate;    /* records/s of all producers; 0 means full speed */
};

static const struct test tests[] = {
	{ .name = "cost", .batch = 1, .calls = 200000 },
	{ .name = "paced", .batch = 8, .rate = 400e3 },
	{ .name = "storm", .batch = 64 },
};

struct producer {
	pthread_t thread;
	int cpu;
	const struct test *test;
	double calls_per_ns;
	uint64_t calls;
	nsec_t used, took; /* CPU time, time */
};

/* Shared by all transports, because a ring buffer stores a pointer to it. */
struct reader {
	pthread_t thread;
	const struct transport *transport; /* to read from */
	bool stop;
	uint64_t records;
	nsec_t used;
	unsigned char copy[1 << 20];
	size_t fill;
};

/* Cached, because the library reads a file on each call. */
static int cpu_count(void)
{
	static int count;
	if (!count)
		count = (int)sysconf(_SC_NPROCESSORS_ONLN);
	return count;
}

/* Size of one CPU's ring: a power of two. */
static uint32_t ring_bytes(void)
{
	uint32_t size = RING_BYTES;
	while (size > RING_BYTES / (uint32_t)cpu_count())
		size /= 2;
	return size;
}

static int keep(void *arg, void *data, size_t size)
{
	struct reader *reader = arg;
	if (reader->fill + size > sizeof(reader->copy))
		reader->fill = 0;
	memcpy(reader->copy + reader->fill, data, size);
	reader->fill += size;
	reader->records++;
	return 0;
}

/* Free space from time to time, not only after the last record. */
static void move_tail(struct mapped_ring *ring, uint64_t tail)
{
	if (tail - ring->tail >= 1 << 16)
		__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
}

static void drain_marked(struct reader *reader, struct mapped_ring *ring)
{
	uint64_t mask = ring_bytes() - 8, tail = ring->tail, words;

	for (;; tail += 8 * words) {
		struct ring_record *r = (void *)(ring->data + (tail & mask));
		words = __atomic_load_n(&r->commit, __ATOMIC_ACQUIRE);
		if (!words)
			break;
		keep(reader, r, 8 * words);
		memset(r, 0, 8 * words);
		move_tail(ring, tail);
	}
	__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
}

static void drain_counted(struct reader *reader, struct mapped_ring *ring, bool last)
{
	uint64_t mask = ring_bytes() - 8, tail = ring->tail;
	uint64_t end = __atomic_load_n(last ? &ring->head : &ring->ready, __ATOMIC_ACQUIRE);

	while (tail < end) {
		struct ring_record *r = (void *)(ring->data + (tail & mask));
		keep(reader, r, 8 * r->commit);
		tail += 8 * r->commit;
		move_tail(ring, tail);
	}
	__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
}

/* After the last write, `ready` can stay behind. */
static void drain(struct reader *reader, bool last)
{
	const struct transport *t = reader->transport;

	if (t->buffers)
		ring_buffer__consume(t->buffers);
	for (int cpu = 0; t->map && cpu < cpu_count(); cpu++) {
		struct mapped_ring *ring = (void *)((char *)t->map + (size_t)cpu * t->stride);
		if (t->program == t->skel->progs.to_marked)
			drain_marked(reader, ring);
		else
			drain_counted(reader, ring, last);
	}
}

static void *read_records(void *arg)
{
	struct reader *reader = arg;
	const struct timespec pause = { .tv_nsec = 5 * NSEC_PER_MSEC };

	while (!__atomic_load_n(&reader->stop, __ATOMIC_ACQUIRE)) {
		drain(reader, false);
		nanosleep(&pause, NULL);
	}
	drain(reader, true);
	reader->used = clock_now(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

static void *produce(void *arg)
{
	struct producer *p = arg;
	pin_thread(p->cpu);
	nsec_t used = clock_now(CLOCK_THREAD_CPUTIME_ID), start = clock_now(CLOCK_MONOTONIC),
	       t = start;

	while (p->test->calls ? p->calls < p->test->calls : t < start + TURN) {
		syscall(SYS_getppid);
		p->calls++;
		if (p->test->calls)
			continue;
		do
			t = clock_now(CLOCK_MONOTONIC);
		while (p->calls_per_ns > 0 &&
		       (double)p->calls > p->calls_per_ns * (double)(t - start));
	}
	p->used = clock_now(CLOCK_THREAD_CPUTIME_ID) - used;
	p->took = clock_now(CLOCK_MONOTONIC) - start;
	return NULL;
}

static void open_per_cpu(struct transport *t, struct reader *reader)
{
	int outer = bpf_map__fd(t->skel->maps.per_cpu);

	for (int cpu = 0; cpu < cpu_count(); cpu++) {
		int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, ring_bytes(), NULL);
		if (fd < 0 || bpf_map_update_elem(outer, &cpu, &fd, BPF_ANY))
			die("cannot create a ring buffer");
		if (!t->buffers)
			t->buffers = ring_buffer__new(fd, keep, reader, NULL);
		else if (ring_buffer__add(t->buffers, fd, keep, reader))
			die("cannot map a ring buffer");
	}
}

static void open_mapped(struct transport *t)
{
	struct bpf_map *map = t->skel->maps.mapped;
	size_t size = bpf_map__value_size(map) * bpf_map__max_entries(map);

	t->stride = bpf_map__value_size(map);
	t->map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		      bpf_map__fd(map), 0);
	if (t->map == MAP_FAILED)
		die("cannot map the rings");
}

static void configure(struct ring_bpf *skel, const struct transport *t, const struct test *test)
{
	skel->rodata->cfg_process = (uint32_t)getpid();
	skel->rodata->cfg_syscall = SYS_getppid;
	skel->rodata->cfg_words = t->bytes / 8;
	skel->rodata->cfg_batch = test->batch;
	skel->rodata->cfg_mask = ring_bytes() - 8;
	bpf_map__set_max_entries(skel->maps.shared, RING_BYTES);
	bpf_map__set_max_entries(skel->maps.mapped, (uint32_t)cpu_count());
	bpf_map__set_value_size(skel->maps.mapped,
				(uint32_t)(sizeof(struct mapped_ring) + ring_bytes() + RING_SLACK));
}

static void transport_open(struct transport *t, const struct test *test, struct reader *reader)
{
	t->skel = ring_bpf__open();
	if (!t->skel)
		die("cannot open the programs");
	configure(t->skel, t, test);
	struct bpf_program *p;
	bpf_object__for_each_program(p, t->skel->obj)
		bpf_program__set_autoload(p, !strcmp(bpf_program__name(p), t->name));
	if (ring_bpf__load(t->skel))
		die("cannot load the programs");
	t->program = bpf_object__find_program_by_name(t->skel->obj, t->name);

	if (t->program == t->skel->progs.to_shared)
		t->buffers =
			ring_buffer__new(bpf_map__fd(t->skel->maps.shared), keep, reader, NULL);
	else if (t->program == t->skel->progs.to_per_cpu)
		open_per_cpu(t, reader);
	else if (t->bytes)
		open_mapped(t);
}

static void transport_close(struct transport *t)
{
	if (t->map)
		munmap(t->map, t->stride * (size_t)cpu_count());
	ring_buffer__free(t->buffers);
	ring_bpf__destroy(t->skel);
	*t = (struct transport){ .name = t->name, .bytes = t->bytes };
}

/* Run `count` producers to their end, on the last CPUs. */
static void run_producers(struct producer *list, int count, const struct test *test)
{
	for (int i = 0; i < count; i++) {
		list[i] = (struct producer){
			.cpu = cpu_count() - 1 - i,
			.test = test,
			.calls_per_ns = test->rate / test->batch / count / (double)NSEC_PER_SEC,
		};
		if (pthread_create(&list[i].thread, NULL, produce, &list[i]))
			die("cannot start a thread");
	}
	for (int i = 0; i < count; i++)
		pthread_join(list[i].thread, NULL);
}

static uint64_t lost(const struct transport *t)
{
	uint64_t sum = 0;
	for (int cpu = 0; cpu < cpu_count(); cpu++)
		sum += t->skel->bss->lost[cpu].count;
	return sum;
}

static void print_result(const struct test *test, const struct transport *t, struct producer *list,
			 int count, const struct reader *reader, uint64_t drops)
{
	uint64_t calls = 0;
	nsec_t used = 0;
	for (int i = 0; i < count; i++) {
		calls += list[i].calls;
		used += list[i].used;
	}
	uint64_t made = t->bytes ? calls * test->batch : 0;
	double ns = (double)used / (double)calls;
	double read_ns = reader->records ? (double)reader->used / (double)reader->records : 0;
	printf("%s\t%d\t%s\t%u\t%.2f\t%.2f\t%.0f\t%lu\t%lu\t%lu\n", test->name, count, t->name,
	       t->bytes, ns, read_ns, (double)made * 1e9 / (double)list[0].took, made,
	       reader->records, drops);
	fflush(stdout);
}

static void measure(const struct test *test, struct transport *t, struct reader *reader, int count,
		    bool quiet)
{
	struct producer list[RING_CPU_MAX];
	uint64_t before = lost(t);
	struct bpf_link *link = bpf_program__attach(t->program);
	if (!link)
		die("cannot attach a program");

	reader->transport = t;
	reader->stop = false;
	reader->records = 0;
	if (pthread_create(&reader->thread, NULL, read_records, reader))
		die("cannot start a thread");
	run_producers(list, count, test);
	__atomic_store_n(&reader->stop, true, __ATOMIC_RELEASE);
	pthread_join(reader->thread, NULL);
	bpf_link__destroy(link);
	if (!quiet)
		print_result(test, t, list, count, reader, lost(t) - before);
}

static void shuffle(int *order, int count)
{
	for (int i = count - 1; i > 0; i--) {
		int j = (int)(random() % (i + 1)), t = order[i];
		order[i] = order[j];
		order[j] = t;
	}
}

/* With one producer, and with one per CPU; the first round is a warm-up. */
static void run_test(const struct test *test, struct reader *reader, int rounds)
{
	static struct transport all[] = {
		{ .name = "only_filter" },
		{ .name = "to_shared", .bytes = 32 },
		{ .name = "to_shared", .bytes = 64 },
		{ .name = "to_per_cpu", .bytes = 32 },
		{ .name = "to_per_cpu", .bytes = 64 },
		{ .name = "to_marked", .bytes = 32 },
		{ .name = "to_marked", .bytes = 64 },
		{ .name = "to_counted", .bytes = 32 },
		{ .name = "to_counted", .bytes = 64 },
	};
	int order[2 * ARRAY_LEN(all)];

	for (int i = 0; i < (int)ARRAY_LEN(order); i++)
		order[i] = i;
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		transport_open(&all[i], test, reader);
	for (int round = 0; round <= rounds; round++) {
		shuffle(order, (int)ARRAY_LEN(order));
		for (int i = 0; i < (int)ARRAY_LEN(order); i++)
			measure(test, &all[order[i] / 2], reader, order[i] % 2 ? cpu_count() : 1,
				round == 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		transport_close(&all[i]);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: ring TEST ROUNDS\n");
		return 2;
	}
	struct reader *reader = must_alloc(sizeof(*reader));
	srandom((unsigned)clock_now(CLOCK_MONOTONIC));
	for (size_t i = 0; i < ARRAY_LEN(tests); i++)
		if (!strcmp(tests[i].name, argv[1]))
			run_test(&tests[i], reader, atoi(argv[2]));
	free(reader);
	return 0;
}

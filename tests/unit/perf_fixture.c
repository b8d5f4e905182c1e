/* SPDX-License-Identifier: Apache-2.0 */
#include "perf_fixture.h"

const char waking_format[] =
	"name: sched_waking\nID: 7\nformat:\n" COMMON_FIELDS
	"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";

static uint32_t process_of(uint32_t tid)
{
	return tid < 10 ? tid : tid / 10 * 10;
}

void begin_sample(struct perf_build *b, uint64_t id, uint32_t cpu, uint32_t tid, uint64_t time)
{
	perf_begin(b, PERF_SAMPLE, 0);
	perf_u(b, 8, id);
	perf_u(b, 8, 0xffffffff81000000);
	perf_u(b, 4, process_of(tid));
	perf_u(b, 4, tid);
	perf_u(b, 8, time);
	perf_u(b, 4, cpu);
	perf_u(b, 4, 0);
	perf_u(b, 8, 1);
}

void put_waking(struct perf_build *b, uint32_t tid, uint32_t woken)
{
	perf_u(b, 4, 28 + 4);
	perf_u(b, 2, WAKING);
	perf_u(b, 2, 0);
	perf_u(b, 4, tid);
	perf_text(b, "sleeper", 16);
	perf_u(b, 4, woken);
	perf_u(b, 4, 0);
}

void waking(struct perf_build *b, uint32_t cpu, uint32_t tid, uint64_t time, uint32_t woken)
{
	begin_sample(b, 10 * WAKING, cpu, tid, time);
	put_waking(b, tid, woken);
	perf_end(b);
}

void end_other(struct perf_build *b, uint32_t cpu, uint32_t tid, uint64_t time)
{
	perf_u(b, 4, process_of(tid));
	perf_u(b, 4, tid);
	perf_u(b, 8, time);
	perf_u(b, 4, cpu);
	perf_u(b, 4, 0);
	perf_u(b, 8, 10 * WAKING);
	perf_end(b);
}

void round_ends(struct perf_build *b)
{
	perf_begin(b, PERF_ROUND, 0);
	perf_end(b);
}

void comm(struct perf_build *b, uint32_t tid, const char *name, uint64_t time)
{
	perf_begin(b, PERF_COMM, 0);
	perf_u(b, 4, process_of(tid));
	perf_u(b, 4, tid);
	perf_text(b, name, 8);
	end_other(b, 0, tid, time);
}

void fork_or_exit(struct perf_build *b, uint32_t type, uint32_t tid, uint32_t parent, uint64_t time)
{
	perf_begin(b, type, 0);
	perf_u(b, 4, process_of(tid));
	perf_u(b, 4, process_of(parent));
	perf_u(b, 4, tid);
	perf_u(b, 4, parent);
	perf_u(b, 8, time);
	end_other(b, 1, parent, time);
}

void begin_default(struct perf_build *b)
{
	perf_build_attr(b, &(struct build_attr){ 2, WAKING, DEFAULT_SAMPLE, 0, DEFAULT_FLAGS, 0,
						 10 * WAKING, "sched:sched_waking" });
	perf_build_format(b, "sched", waking_format);
}

void result_done(struct result *r)
{
	input_free(r->input);
	bytes_done(&r->file);
}

static void add_event(FILE *to, struct raw_source *raw, const struct raw_event *e)
{
	fprintf(to, "%d@%u %" PRIu64 " ", (int)e->tid, e->cpu, (uint64_t)e->time);
	switch (e->kind) {
	case RAW_WAKING:
		fprintf(to, "waking:%u", e->wake.tid);
		break;
	case RAW_TASK:
		fprintf(to, "task:%u,%u,%u,%d,%.*s", e->task.tid, e->task.pid, e->task.parent,
			(int)e->task.kernel, (int)e->task.comm.len, e->task.comm.s);
		break;
	case RAW_FORK:
		fprintf(to, "fork:%u,%u,%u", e->fork.parent, e->fork.child, e->fork.child_pid);
		break;
	case RAW_EXIT:
		fprintf(to, "exit:%u", e->wake.tid);
		break;
	case RAW_LOST:
		fprintf(to, "lost:%" PRIu64 ",%" PRIu64, (uint64_t)e->lost.start, e->lost.count);
		break;
	case RAW_SWITCH:
		fprintf(to, "switch:%u,%u,%" PRIu64, e->sched_switch.prev, e->sched_switch.next,
			e->sched_switch.state);
		break;
	default:
		fprintf(to, "other:%s", raw->type_name(raw, e->type));
	}
	fprintf(to, "\n");
}

struct result read_bytes(struct bytes file)
{
	struct result r = { .file = file };
	struct raw_event event;

	r.code = perf_open_memory("x.data", (const char *)file.data, file.size, &r.input, &r.err);
	if (r.code < 0)
		return r;
	r.raw = input_raw(r.input);

	FILE *to = fmemopen(r.text, sizeof(r.text), "w");

	while (r.raw->next(r.raw, &event, &r.err) > 0)
		add_event(to, r.raw, &event);
	fclose(to);
	return r;
}

struct result read_built(struct perf_build *b)
{
	return read_bytes(perf_build_finish(b));
}

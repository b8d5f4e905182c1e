/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records that a replay makes from raw events, written as text: a run as "1:R0-10", a
 * wait as "1:L10-20,C20-25", with "<2" if thread 2 ended it and "<softirq3" if an
 * interrupt did; a system call as "1:read0-5=3".
 */
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "event/syscall.h"
#include "read/replay/replay.h"
#include "test.h"

struct play {
	struct raw_source source;
	struct replay *replay;
	FILE *file;
	char *text;
	size_t size;
};

static const char *type_name(struct raw_source *source, uint32_t type)
{
	return type == 7 ? "kmem:page_fault" : "user:other";
}

static void play_begin(struct play *p, uint32_t kinds)
{
	*p = (struct play){
		.source = { .type_name = type_name, .kinds = kinds, .has_kinds = kinds != 0 }
	};
	p->replay = replay_new(&p->source);
	p->file = open_memstream(&p->text, &p->size);
}

static void play_done(struct play *p)
{
	replay_free(p->replay);
	fclose(p->file);
	free(p->text);
}

static void put_wait(FILE *file, const struct record_wait *w)
{
	static const char *const contexts[] = { "", "<", "<irq", "<softirq", "<hrtimer" };

	if (w->woken > w->start)
		fprintf(file, "%c%" PRIu64 "-%" PRIu64 ",", w->state, (uint64_t)w->start,
			(uint64_t)w->woken);
	if (w->head.time > w->woken)
		fprintf(file, "%c%" PRIu64 "-%" PRIu64, w->ready, (uint64_t)w->woken,
			(uint64_t)w->head.time);
	if (w->context == WAKE_TASK)
		fprintf(file, "<%u", w->waker);
	else if (w->context)
		fprintf(file, "%s%u", contexts[w->context], w->vector);
	if (w->flags & INTERVAL_END_HIDDEN)
		fputs("!hidden", file);
	if (w->flags & INTERVAL_OPEN)
		fputs("!open", file);
}

static void put_task(const struct play *p, const struct record_task *t)
{
	static const char *const events[] = { "existing", "new", "exec", "renamed" };

	fprintf(p->file, "%s=%s/%u", events[t->event], replay_string(p->replay, t->comm), t->pid);
}

static void put_record(struct play *p, const struct record *r)
{
	const struct record_run *run = (const void *)r;
	const struct record_syscall *call = (const void *)r;
	const struct record_message *m = (const void *)r;
	const struct record_block *b = (const void *)r;

	fprintf(p->file, " %u:", r->tid);
	if (r->kind == RECORD_RUN)
		fprintf(p->file, "R%" PRIu64 "-%" PRIu64 "%s", (uint64_t)run->start,
			(uint64_t)r->time, run->flags & INTERVAL_OPEN ? "!open" : "");
	else if (r->kind == RECORD_WAIT)
		put_wait(p->file, (const void *)r);
	else if (r->kind == RECORD_TASK)
		put_task(p, (const void *)r);
	else if (r->kind == RECORD_SYSCALL)
		fprintf(p->file, "%s%" PRIu64 "-%" PRIu64 "=%d", syscall_name(call->nr),
			(uint64_t)call->start, (uint64_t)r->time, (int)call->result);
	else if (r->kind == RECORD_MESSAGE)
		fprintf(p->file, "%s%u@%u", m->direction == MESSAGE_SEND ? "send" : "receive",
			m->bytes, m->position);
	else if (r->kind == RECORD_BLOCK)
		fprintf(p->file, "block%c%" PRIu64 "-%" PRIu64, b->op, (uint64_t)b->start,
			(uint64_t)r->time);
	else if (r->kind == RECORD_EXIT)
		fputs("exit", p->file);
	else
		fprintf(p->file, "kind%u", r->kind);
}

static void take_all(struct play *p)
{
	for (const struct record *r; (r = replay_take(p->replay));)
		put_record(p, r);
}

static void play(struct play *p, struct raw_event e)
{
	replay_event(p->replay, &e);
	take_all(p);
}

/* Compares the records made since the last check. */
static void check_made(struct play *p, const char *want)
{
	fflush(p->file);
	CHECK_STR(p->size ? p->text + 1 : "", want);
	fclose(p->file);
	free(p->text);
	p->file = open_memstream(&p->text, &p->size);
}

#define TEXT(s) ((struct raw_text){ s, sizeof(s) - 1 })

static struct raw_event at(nsec_t time, enum raw_kind kind, uint32_t tid)
{
	struct raw_event e = raw_event_empty(kind);

	e.time = time;
	e.tid = tid;
	return e;
}

static void sched(struct play *p, nsec_t time, uint32_t prev, uint64_t state, uint32_t next)
{
	struct raw_event e = at(time, RAW_SWITCH, prev);

	e.sched_switch.prev = prev;
	e.sched_switch.next = next;
	e.sched_switch.state = state;
	play(p, e);
}

static void wake(struct play *p, nsec_t time, uint32_t tid, uint32_t woken)
{
	struct raw_event e = at(time, RAW_WAKING, tid);

	e.wake.tid = woken;
	play(p, e);
}

static void irq(struct play *p, nsec_t time, enum raw_kind kind, uint32_t number)
{
	struct raw_event e = at(time, kind, RAW_UNKNOWN);

	e.irq.number = number;
	play(p, e);
}

static void call_begins(struct play *p, nsec_t time, uint32_t tid, const char *name, uint64_t arg)
{
	struct raw_event e = at(time, RAW_SYSCALL_ENTER, tid);

	e.syscall.nr = syscall_number(name);
	e.syscall.args[0] = arg;
	play(p, e);
}

static void call_ends(struct play *p, nsec_t time, uint32_t tid, int64_t result)
{
	struct raw_event e = at(time, RAW_SYSCALL_EXIT, tid);

	e.syscall.result = result;
	play(p, e);
}

static void fork_one(struct play *p, nsec_t time, uint32_t parent, uint32_t child)
{
	struct raw_event e = at(time, RAW_FORK, parent);

	e.fork.parent = parent;
	e.fork.child = child;
	e.fork.comm = TEXT("worker");
	play(p, e);
}

TEST(a_thread_that_blocks_is_woken_and_runs_again)
{
	_cleanup_(play_done) struct play p;

	play_begin(&p, 0);
	sched(&p, 10, 0, 0, 1);
	sched(&p, 20, 1, RAW_STATE_SLEEP, 2);
	wake(&p, 35, 2, 1);
	sched(&p, 50, 2, 0, 1);
	check_made(&p, "1:existing=/1 1:R10-20 2:existing=/2 2:R20-50 1:I20-35,C35-50<2");
	sched(&p, 60, 1, 0, 2);
	replay_end(p.replay);
	take_all(&p);
	check_made(&p, "1:R50-60 2:C50-60");
}

TEST(a_thread_without_a_creation_existed_from_the_start_of_the_trace)
{
	_cleanup_(play_done) struct play p;

	play_begin(&p, 1 << RAW_FORK | 1 << RAW_SWITCH);
	irq(&p, 5, RAW_IRQ_ENTRY, 3);
	irq(&p, 6, RAW_IRQ_EXIT, 3);
	sched(&p, 20, 1, RAW_STATE_SLEEP, 2);
	check_made(&p, "1:existing=/1 1:R5-20 2:existing=/2 2:C5-20");
}

TEST(the_innermost_interrupt_is_the_waker)
{
	_cleanup_(play_done) struct play p;

	play_begin(&p, 0);
	sched(&p, 1, 0, 0, 9);
	sched(&p, 10, 9, RAW_STATE_SLEEP, 0);
	irq(&p, 20, RAW_SOFTIRQ_ENTRY, VECTOR_NET_RX);
	wake(&p, 21, 0, 9);
	irq(&p, 22, RAW_SOFTIRQ_EXIT, VECTOR_NET_RX);
	sched(&p, 30, 0, 0, 9);
	sched(&p, 40, 9, RAW_STATE_SLEEP, 0);
	irq(&p, 50, RAW_HRTIMER_ENTRY, 0);
	wake(&p, 51, 0, 9);
	irq(&p, 52, RAW_HRTIMER_EXIT, 0);
	sched(&p, 60, 0, 0, 9);
	check_made(
		&p,
		"9:existing=/9 9:R1-10 9:N10-21,C21-30<softirq3 9:R30-40 9:T40-51,C51-60<hrtimer0");
}

TEST(a_wakeup_from_the_idle_task_comes_from_an_interrupt)
{
	_cleanup_(play_done) struct play p;

	play_begin(&p, 0);
	sched(&p, 1, 0, 0, 9);
	sched(&p, 10, 9, RAW_STATE_SLEEP, 0);
	wake(&p, 21, 0, 9);
	sched(&p, 30, 0, 0, 9);
	check_made(&p, "9:existing=/9 9:R1-10 9:?10-21,C21-30<irq65535");
}

TEST(sched_wakeup_counts_only_without_sched_waking)
{
	_cleanup_(play_done) struct play p;
	struct raw_event e = at(15, RAW_WAKEUP, 2);

	e.wake.tid = 1;
	play_begin(&p, 0);
	sched(&p, 1, 0, 0, 1);
	sched(&p, 10, 1, RAW_STATE_SLEEP, 2);
	play(&p, e);
	sched(&p, 20, 2, 0, 1);
	sched(&p, 30, 1, RAW_STATE_SLEEP, 2);
	wake(&p, 32, 2, 1);
	e.time = 36;
	play(&p, e);
	sched(&p, 40, 2, 0, 1);
	check_made(
		&p,
		"1:existing=/1 1:R1-10 2:existing=/2 2:R10-20 1:I10-15,C15-20<2 1:R20-30 2:C20-30 "
		"2:R30-40 1:I30-32,C32-40<2");
}

TEST(the_system_call_determines_the_state_of_a_wait)
{
	_cleanup_(play_done) struct play p;

	play_begin(&p, 0);
	sched(&p, 1, 0, 0, 1);
	call_begins(&p, 2, 1, "futex", 0x7f00);
	sched(&p, 10, 1, RAW_STATE_SLEEP, 2);
	wake(&p, 15, 2, 1);
	sched(&p, 20, 2, 0, 1);
	call_ends(&p, 22, 1, 0);
	check_made(&p,
		   "1:existing=/1 1:R1-10 2:existing=/2 2:R10-20 1:L10-15,C15-20<2 1:futex2-22=0");
}

TEST(a_stopped_thread_does_not_wait_for_its_system_call)
{
	_cleanup_(play_done) struct play p;

	play_begin(&p, 0);
	sched(&p, 1, 0, 0, 1);
	call_begins(&p, 2, 1, "clock_nanosleep", 0);
	sched(&p, 10, 1, RAW_STATE_STOPPED, 2);
	wake(&p, 15, 2, 1);
	sched(&p, 20, 2, 0, 1);
	check_made(&p, "1:existing=/1 1:R1-10 2:existing=/2 2:R10-20 1:I10-15,C15-20<2");
}

TEST(system_calls_determine_the_object_behind_a_descriptor)
{
	_cleanup_(play_done) struct play p;

	play_begin(&p, 0);
	sched(&p, 1, 0, 0, 1);
	call_begins(&p, 2, 1, "openat", -100);
	call_ends(&p, 3, 1, 5);
	call_begins(&p, 4, 1, "read", 5);
	sched(&p, 5, 1, RAW_STATE_DISK, 0);
	irq(&p, 8, RAW_IRQ_ENTRY, 24);
	wake(&p, 9, 0, 1);
	irq(&p, 10, RAW_IRQ_EXIT, 24);
	sched(&p, 11, 0, 0, 1);
	check_made(&p, "1:existing=/1 1:openat2-3=5 1:R1-5 1:D5-9,C9-11<irq24");
	call_ends(&p, 12, 1, 1);
	call_begins(&p, 13, 1, "close", 5);
	call_ends(&p, 14, 1, 0);
	call_begins(&p, 15, 1, "timerfd_create", 1);
	call_ends(&p, 16, 1, 5);
	call_begins(&p, 17, 1, "read", 5);
	sched(&p, 18, 1, RAW_STATE_SLEEP, 0);
	wake(&p, 19, 0, 1);
	sched(&p, 20, 0, 0, 1);
	check_made(&p, "1:read4-12=1 1:close13-14=0 1:timerfd_create15-16=5 1:R11-18 "
		       "1:T18-19,C19-20<irq65535");
}

TEST(a_wait_that_a_disk_interrupt_ends_was_for_the_disk)
{
	_cleanup_(play_done) struct play p;
	struct raw_event issue = at(3, RAW_BLOCK_ISSUE, 1), done = at(9, RAW_BLOCK_COMPLETE, 0);

	issue.block.sector = done.block.sector = 800;
	issue.block.bytes = 4096;
	issue.block.op = TEXT("WS");
	play_begin(&p, 0);
	sched(&p, 1, 0, 0, 1);
	play(&p, issue);
	sched(&p, 5, 1, RAW_STATE_DISK, 0);
	irq(&p, 8, RAW_IRQ_ENTRY, 24);
	play(&p, done);
	wake(&p, 10, 0, 1);
	irq(&p, 11, RAW_IRQ_EXIT, 24);
	sched(&p, 12, 0, 0, 1);
	check_made(&p, "1:existing=/1 1:R1-5 1:blockW3-9 1:D5-10,C10-12<irq24");
}

TEST(a_thread_lives_from_its_creation_to_its_last_switch)
{
	_cleanup_(play_done) struct play p;
	struct raw_event exits = at(40, RAW_EXIT, 2);

	exits.wake.tid = 2;
	play_begin(&p, 0);
	sched(&p, 1, 0, 0, 1);
	fork_one(&p, 5, 1, 2);
	sched(&p, 30, 1, 0, 2);
	play(&p, exits);
	sched(&p, 50, 2, 64, 1);
	check_made(&p, "1:existing=/1 2:new=worker/2 1:R1-30 2:C5-30 2:R30-50 2:exit 1:C30-50");
	fork_one(&p, 60, 1, 2);
	check_made(&p, "2:new=worker/2");
}

/* Before Linux 4.14, 130 is a sleep that only a fatal signal ends. */
TEST(an_exiting_thread_can_sleep_until_it_is_dead)
{
	static const char *const releases[] = { "4.4.3-1-ARCH", NULL };

	for (size_t i = 0; i < ARRAY_LEN(releases); i++) {
		_cleanup_(play_done) struct play p;
		struct raw_event exits = at(10, RAW_EXIT, 2);

		exits.wake.tid = 2;
		play_begin(&p, 0);
		p.source.states = raw_states_of_release(releases[i]);
		sched(&p, 1, 0, 0, 2);
		play(&p, exits);
		sched(&p, 20, 2, 130, 1);
		wake(&p, 30, 1, 2);
		sched(&p, 40, 1, 1, 2);
		sched(&p, 50, 2, 64, 1);
		check_made(
			&p,
			"2:existing=/2 2:R1-20 1:existing=/1 1:R20-40 2:I20-30,C30-40<1 2:R40-50 "
			"2:exit 1:?40-50,");
	}
}

TEST(events_within_the_last_switch_add_no_thread)
{
	_cleanup_(play_done) struct play p;

	play_begin(&p, 0);
	sched(&p, 1, 0, 0, 1);
	sched(&p, 10, 1, RAW_STATE_ZOMBIE, 2);
	play(&p, at(11, RAW_WAKING, 1)); /* carries the tid of the exited thread */
	check_made(&p, "1:existing=/1 1:R1-10 1:exit 2:existing=/2");
	sched(&p, 20, 2, 0, 3);
	play(&p, at(21, RAW_WAKING, 1)); /* another thread with the same tid */
	check_made(&p, "2:R10-20 3:existing=/3 1:existing=/1");
}

TEST(two_tracepoints_of_one_creation_make_one_thread)
{
	_cleanup_(play_done) struct play p;
	struct raw_event e = at(4, RAW_FORK, 1);

	e.fork.child = 2;
	e.fork.flags = 0x10000;
	e.fork.comm = TEXT("pool");
	play_begin(&p, 0);
	sched(&p, 1, 0, 0, 1);
	play(&p, e);
	fork_one(&p, 5, 1, 2);
	check_made(&p, "1:existing=/1 2:new=pool/1");
}

TEST(a_missing_switch_leaves_no_overlap)
{
	_cleanup_(play_done) struct play p;

	play_begin(&p, 0);
	sched(&p, 1, 0, 0, 1);
	sched(&p, 10, 1, RAW_STATE_SLEEP, 7); /* the switch from 7 to 2 is missing */
	wake(&p, 12, 2, 1);
	sched(&p, 20, 2, 0, 1);
	check_made(&p,
		   "1:existing=/1 1:R1-10 7:existing=/7 2:existing=/2 2:R12-20 1:I10-12,C12-20<2");
	sched(&p, 30, 1, 0, 7);
	check_made(&p, "1:R20-30"); /* the state of 7 until here is unknown */
}

TEST(a_name_in_an_event_replaces_a_cached_name)
{
	_cleanup_(play_done) struct play p;
	struct raw_event e = at(10, RAW_SWITCH, 1);

	e.comm = TEXT("old");
	e.sched_switch.prev = 1;
	e.sched_switch.prev_comm = TEXT("a name that is too long to be one");
	play_begin(&p, 0);
	play(&p, e);
	e = at(20, RAW_OTHER, 1);
	e.comm = TEXT("old");
	e.type = 7;
	play(&p, e);
	check_made(&p, "1:existing=old/1 1:renamed=a name that is /1 0:kind19 1:kind11");
}

static struct raw_event tcp_state(nsec_t time, uint64_t object, uint16_t local, uint16_t peer,
				  uint32_t from, uint32_t to)
{
	struct raw_event e = at(time, RAW_SOCKET_STATE, 0);

	e.socket.object = object;
	e.socket.address = (struct socket_address){
		.family = AF_INET, .protocol = IPPROTO_TCP, .local_port = local, .peer_port = peer
	};
	e.socket.from = from;
	e.socket.to = to;
	return e;
}

static struct raw_event message(nsec_t time, uint32_t tid, enum raw_kind kind, uint64_t object,
				int64_t bytes)
{
	struct raw_event e = at(time, kind, tid);

	e.socket.object = object;
	e.socket.address.family = AF_INET;
	e.socket.bytes = bytes;
	return e;
}

TEST(both_sides_of_a_connection_count_the_same_positions)
{
	_cleanup_(play_done) struct play p;

	play_begin(&p, 0);
	sched(&p, 1, 0, 0, 1);
	sched(&p, 2, 1, 0, 2);
	check_made(&p, "1:existing=/1 1:R1-2 2:existing=/2");
	play(&p, tcp_state(3, 0xa, 5000, 80, 2, 1));
	play(&p, tcp_state(4, 0xb, 80, 5000, 3, 1));
	play(&p, message(5, 2, RAW_SOCKET_SEND, 0xa, 100));
	play(&p, message(6, 2, RAW_SOCKET_SEND, 0xa, 11));
	play(&p, message(7, 2, RAW_SOCKET_RECEIVE, 0xb, 111));
	play(&p, message(8, 2, RAW_SOCKET_SEND, 0xc, 5));
	check_made(&p, "0:kind8 0:kind6 0:kind8 0:kind6 2:send100@101 2:send11@112 "
		       "2:receive111@112 2:send5@0");
}

static struct raw_event segment(nsec_t time, uint32_t tid, enum raw_kind kind)
{
	struct raw_event e = at(time, kind, tid);

	e.packet.address = (struct socket_address){ .local_port = 5000, .peer_port = 80 };
	e.packet.seq = 1000;
	e.packet.ip_words = 5;
	e.packet.tcp_words = 8;
	e.packet.bytes = 52 + 200;
	return e;
}

TEST(a_segment_goes_from_its_sender_to_the_thread_that_it_wakes)
{
	_cleanup_(play_done) struct play p;

	play_begin(&p, 0);
	sched(&p, 1, 0, 0, 1);
	sched(&p, 2, 1, RAW_STATE_SLEEP, 2);
	play(&p, segment(3, 2, RAW_PACKET_SEND));
	irq(&p, 4, RAW_SOFTIRQ_ENTRY, VECTOR_NET_RX);
	play(&p, segment(5, 2, RAW_PACKET_RECEIVE));
	wake(&p, 6, 2, 1);
	irq(&p, 7, RAW_SOFTIRQ_EXIT, VECTOR_NET_RX);
	wake(&p, 8, 2, 1);
	check_made(&p, "1:existing=/1 1:R1-2 2:existing=/2 0:kind6 2:send200@1200 0:kind6 "
		       "1:receive200@1200");
}

/* Thread 2 is kthreadd, a kernel thread. */
TEST(a_segment_can_be_received_in_the_thread_of_an_interrupt)
{
	_cleanup_(play_done) struct play p;

	play_begin(&p, 0);
	sched(&p, 1, 0, 0, 1);
	sched(&p, 2, 1, RAW_STATE_SLEEP, 2);
	play(&p, segment(3, 2, RAW_PACKET_RECEIVE));
	wake(&p, 4, 2, 1);
	wake(&p, 5, 2, 1);
	check_made(&p, "1:existing=/1 1:R1-2 2:existing=/2 0:kind6 1:receive200@1200");
	play(&p, segment(6, 2, RAW_PACKET_RECEIVE));
	sched(&p, 7, 2, 0, 3); /* the CPU may process another segment by now */
	sched(&p, 8, 3, 0, 2);
	wake(&p, 9, 2, 1);
	play(&p, segment(10, 2, RAW_PACKET_RECEIVE));
	wake(&p, 200000, 2, 1); /* too late */
	check_made(&p, "2:R2-7 3:existing=/3 3:R7-8 2:C7-8");
}

TEST(a_segment_in_a_user_thread_counts_if_the_trace_has_softirqs)
{
	static const uint32_t kinds[] = { 0, 1u << RAW_SWITCH | 1u << RAW_SOFTIRQ_ENTRY };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		_cleanup_(play_done) struct play p;

		play_begin(&p, kinds[i]);
		sched(&p, 1, 0, 0, 1);
		sched(&p, 2, 1, RAW_STATE_SLEEP, 3);
		play(&p, segment(3, 3, RAW_PACKET_RECEIVE));
		wake(&p, 4, 3, 1);
		check_made(&p,
			   kinds[i] ? "1:existing=/1 1:R1-2 3:existing=/3 0:kind6 1:receive200@1200"
				    : "1:existing=/1 1:R1-2 3:existing=/3 0:kind6");
	}
}

TEST(an_interrupt_thread_sends_for_the_last_sender)
{
	_cleanup_(play_done) struct play p;

	play_begin(&p, 0);
	sched(&p, 1, 0, 0, 1);
	play(&p, segment(2, 1, RAW_PACKET_SEND));
	sched(&p, 3, 1, RAW_STATE_SLEEP, 2);
	play(&p, segment(4, 2, RAW_PACKET_SEND));
	check_made(&p, "1:existing=/1 0:kind6 1:send200@1200 1:R1-3 2:existing=/2 1:send200@1200");
}

static struct raw_event local(nsec_t time, uint32_t tid, enum raw_kind kind, uint64_t socket,
			      unsigned flags)
{
	struct raw_event e = at(time, kind, tid);

	e.packet.object = socket;
	e.packet.seq = 7000;
	e.packet.ack = 4000;
	e.packet.flags = flags;
	return e;
}

TEST(segments_without_addresses_are_messages)
{
	_cleanup_(play_done) struct play p;

	play_begin(&p, 0);
	sched(&p, 1, 0, 0, 1);
	sched(&p, 2, 1, RAW_STATE_SLEEP, 2);
	play(&p, local(3, 2, RAW_PACKET_SEND, 0xa, 0x8018));
	irq(&p, 4, RAW_SOFTIRQ_ENTRY, VECTOR_NET_RX);
	play(&p, local(5, 2, RAW_PACKET_RECEIVE, 0xb, 0x8018));
	wake(&p, 6, 2, 1);
	play(&p, local(7, 2, RAW_PACKET_SEND, 0xb, 0x8010)); /* an acknowledgement */
	irq(&p, 8, RAW_SOFTIRQ_EXIT, VECTOR_NET_RX);
	check_made(
		&p,
		"1:existing=/1 1:R1-2 2:existing=/2 0:kind6 2:send0@7000 0:kind6 1:receive0@7000");
}

TEST(missing_events_are_reported)
{
	_cleanup_(play_done) struct play p;
	_cleanup_(freep) char *nothing = NULL, *calls_only = NULL;

	play_begin(&p, 0);
	nothing = replay_missing(p.replay);
	CHECK_STR(nothing, "has no events");
	call_begins(&p, 1, 4, "read", 0);
	calls_only = replay_missing(p.replay);
	CHECK_STR(calls_only, "has no sched_switch events, so what threads waited for is unknown");
}

TEST(missing_cpu_numbers_are_reported)
{
	_cleanup_(play_done) struct play with, without;
	_cleanup_(freep) char *some = NULL, *none = NULL;

	play_begin(&with, 0);
	play_begin(&without, 0);
	sched(&with, 1, 0, 0, 1);
	sched(&without, 1, 0, 0, 1);
	without.source.missing_cpus = true;
	some = replay_missing(with.replay);
	none = replay_missing(without.replay);
	CHECK(some && !strstr(some, "no CPU numbers"));
	CHECK(none && strstr(none, "has no CPU numbers, so"));
}

TEST(a_trace_of_some_threads_is_reported)
{
	_cleanup_(play_done) struct play all, some;
	_cleanup_(freep) char *of_all = NULL, *of_some = NULL;

	play_begin(&all, 0);
	play_begin(&some, 0);
	for (nsec_t i = 0; i < 100; i++) {
		sched(&all, 2 * i + 1, i ? 2 : 0, 0, 1);
		sched(&all, 2 * i + 2, 1, 0, i < 97 ? 2 : 3); /* a few are missing from any trace */
		sched(&some, 2 * i + 1, 3, 0, 1);
		sched(&some, 2 * i + 2, 1, 0, 2);
	}
	of_all = replay_missing(all.replay);
	of_some = replay_missing(some.replay);
	CHECK(of_all && !strstr(of_all, "not all switches"));
	CHECK(of_some && strstr(of_some, "has only some of the context switches"));
}

TEST(events_of_an_impossible_cpu_are_ignored)
{
	_cleanup_(play_done) struct play p;
	struct raw_event e = at(2, RAW_SYSCALL_ENTER, 9);

	play_begin(&p, 0);
	sched(&p, 1, 0, 0, 1);
	e.cpu = UINT16_MAX;
	play(&p, e);
	sched(&p, 3, 1, RAW_STATE_SLEEP, 0);
	check_made(&p, "1:existing=/1 1:R1-3");
}

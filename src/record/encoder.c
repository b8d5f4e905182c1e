/* SPDX-License-Identifier: Apache-2.0 */
#include "record/encoder.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "bpf/wire.h"
#include "record/function_names.h"
#include "record/listeners.h"
#include "record/process_text.h"
#include "record/task_table.h"

/* The longest time to resolve function names after recording. */
#define SYMBOL_BUDGET (30 * NSEC_PER_SEC)

struct encoder {
	struct sorter *sorter;   /* borrowed */
	struct sink *sink;       /* borrowed */
	struct symbols *symbols; /* borrowed */
	struct map devices;      /* device number -> 1 once written */
	struct map stacks;       /* hash of frames -> number in the capture */
	struct map pending[2];   /* kernel's stack number -> number in the capture; by epoch */
	struct map frames;       /* hash of process and address -> number */
	VEC(struct symbol_location) frame_symbols; /* of frame number i + 1 */
	struct map contexts;                       /* tid -> hash of its last written context */
	struct listeners listeners;
	struct counters *counters; /* borrowed */
	bool arguments;            /* store command lines, with secrets masked */

	/* only with epochs */
	uint32_t stack_count; /* number of stacks of all epochs */
	uint32_t frame_base;  /* number of frames of earlier epochs */
	uint32_t frames_old;  /* number of frames that are too old to refer to */
	struct task_table tasks;
	struct function_names *names;
	nsec_t now; /* of encoder_poll() */
	encoder_epoch_fn *on_epoch;
	void *epoch_arg;
};

/* A function_name_fn.  The frame may still be in the sorter. */
static void add_symbol(void *arg, uint32_t frame, uint16_t depth,
		       const struct symbol_function *function)
{
	struct encoder *e = arg;

	if (frame <= e->frames_old)
		return;

	struct record_symbol s = {
		.head = { .time = e->now, .kind = RECORD_SYMBOL, .words = sizeof(s) / 8 },
		.frame = frame,
		.depth = depth,
		.name = sink_add_string(e->sink, function->name),
		.source = sink_add_string(e->sink, function->source),
		.line = function->line,
		.offset = function->offset,
	};

	counter_add(e->counters, COUNTER_ADDED, 1);
	sorter_add(e->sorter, 0, &s.head);
}

void encoder_poll(struct encoder *e, nsec_t now)
{
	e->now = now;
	if (e->names)
		function_names_poll(e->names, now);
}

struct encoder *encoder_new(struct sorter *sorter, struct sink *sink, struct symbols *symbols,
			    bool arguments, struct counters *counters)
{
	struct encoder *e = must_alloc(sizeof(*e));

	e->sorter = sorter;
	e->sink = sink;
	e->symbols = symbols;
	e->arguments = arguments;
	e->counters = counters;
	if (sink_has_epochs(sink))
		e->names = function_names_new(symbols, sink->socket, add_symbol, e);
	return e;
}

void encoder_free(struct encoder *e)
{
	if (!e)
		return;
	map_done(&e->devices);
	map_done(&e->stacks);
	map_done(&e->pending[0]);
	map_done(&e->pending[1]);
	map_done(&e->frames);
	map_done(&e->contexts);
	vec_done(&e->frame_symbols);
	task_table_done(&e->tasks);
	function_names_free(e->names);
	listeners_done(&e->listeners);
	free(e);
}

static int put(struct encoder *e, const void *record, struct err *err)
{
	counter_add(e->counters, COUNTER_WRITTEN, 1);
	return sink_write(e->sink, record, err);
}

/* Write a record that does not come from a ring. */
static int put_added(struct encoder *e, const void *record, struct err *err)
{
	counter_add(e->counters, COUNTER_ADDED, 1);
	return put(e, record, err);
}

#define HEAD(from, kind_, type) \
	{ .time = (from)->time, \
	  .tid = (from)->tid, \
	  .cpu = (from)->cpu, \
	  .kind = (kind_), \
	  .words = sizeof(type) / 8 }

static uint32_t put_string(struct encoder *e, const char *chars, size_t room)
{
	char s[128];
	size_t len = strnlen(chars, room < sizeof(s) ? room : sizeof(s) - 1);

	memcpy(s, chars, len);
	s[len] = '\0';
	return sink_add_string(e->sink, s);
}

/* A listener_fn. */
static int put_listener(void *arg, const struct record_socket_state *state, struct err *err)
{
	return put_added(arg, state, err);
}

static int put_listeners(struct encoder *e, const struct record_task *task, nsec_t now,
			 struct err *err)
{
	return listeners_read(&e->listeners, task->pid, now, put_listener, e, err);
}

static int put_process(struct encoder *e, const struct record_task *task, struct err *err)
{
	struct record_process p = { .head = HEAD(&task->head, RECORD_PROCESS, p),
				    .pid = task->pid };
	_cleanup_(freep) char *cmdline = process_text_cmdline(task->pid, e->arguments);
	_cleanup_(freep) char *cgroup = cmdline ? process_text_cgroup(task->pid) : NULL;

	if (!cmdline)
		return 0;
	p.cmdline = sink_add_string(e->sink, cmdline);
	p.cgroup = sink_add_string(e->sink, cgroup);
	if (sink_has_epochs(e->sink))
		task_table_set_process(&e->tasks, task->pid, cmdline, cgroup);

	int r = put_added(e, &p, err);

	return r < 0 ? r : put_listeners(e, task, task->head.time, err);
}

static int put_task(struct encoder *e, const struct record *record, struct err *err)
{
	const struct wire_task *wire = (const void *)record;
	struct record_task task = wire->task;

	task.head.words = sizeof(task) / 8;
	task.comm = put_string(e, wire->comm, sizeof(wire->comm));
	if (sink_has_epochs(e->sink))
		task_table_add(&e->tasks, wire);

	int r = put(e, &task, err);

	if (r < 0 || task.head.tid != task.pid)
		return r;
	return task.event == TASK_EXEC || task.event == TASK_EXISTING ? put_process(e, &task, err)
								      : 0;
}

static int put_device(struct encoder *e, const struct record *from, uint32_t device,
		      struct err *err)
{
	uint64_t *is_written = map_insert(&e->devices, device);
	struct record_device d = { .head = HEAD(from, RECORD_DEVICE, d), .device = device };
	char name[128];

	if (*is_written)
		return 0;
	*is_written = 1;
	if (!process_text_device(device, name))
		return 0;
	d.head.tid = 0;
	d.name = sink_add_string(e->sink, name);
	return put_added(e, &d, err);
}

static int put_file(struct encoder *e, const struct record *record, struct err *err)
{
	const struct wire_file *wire = (const void *)record;
	struct record_file file = wire->file;
	char name[128];
	int r = put_device(e, record, file.device, err);

	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "%.31s%s%.63s",
		 wire->directory[0] == '/' ? "" : wire->directory, wire->directory[0] ? "/" : "",
		 wire->name);
	file.head.words = sizeof(file) / 8;
	file.name = sink_add_string(e->sink, name);
	return put(e, &file, err);
}

/* The number of a frame; a new frame is added to the sorter. */
static uint32_t add_frame(struct encoder *e, size_t stream, const struct wire_stack *wire,
			  uint32_t pid, uint64_t address, bool is_return)
{
	struct symbol_location location;

	symbol_locate(e->symbols, pid, address, is_return, &location);

	/* after an execve(), the same address means something else */
	uint64_t key[] = { address, location.offset, (uint64_t)location.module << 32 | pid,
			   is_return };
	uint64_t *frame = map_insert(&e->frames, hash_bytes(key, sizeof(key)));

	if (!*frame) {
		struct record_frame f = {
			.head = HEAD(&wire->head, RECORD_FRAME, f),
			.address = address,
			.offset = location.offset,
			.module = sink_add_string(e->sink,
						  symbol_module(e->symbols, location.module)),
		};

		*vec_push(&e->frame_symbols) = location;
		*frame = f.frame = e->frame_base + e->frame_symbols.count;
		counter_add(e->counters, COUNTER_ADDED, 1);
		sorter_add(e->sorter, stream, &f.head);
		if (e->names) {
			if (e->now < wire->head.time)
				e->now = wire->head.time;
			function_names_add(e->names, f.frame, &location);
		}
	}
	return *frame;
}

/*
 * Symbolise a stack when it arrives, not when it is written: its process, and with it the list of
 * its mappings, may be gone by then.
 */
static void add_stack(struct encoder *e, size_t stream, const struct wire_stack *wire)
{
	_Alignas(8) unsigned char room[sizeof(struct record_stack) +
				       (WIRE_KERNEL_FRAMES + WIRE_USER_FRAMES) * 4] = { 0 };
	struct record_stack *s = (void *)room;
	size_t count = (size_t)wire->kernel_count + wire->user_count;

	for (size_t i = 0; i < wire->kernel_count; i++)
		s->frames[i] = add_frame(e, stream, wire, 0, wire->kernel[i], i > 0);
	for (size_t i = 0; i < wire->user_count; i++)
		s->frames[wire->kernel_count + i] =
			add_frame(e, stream, wire, wire->pid, wire->user[i], i > 0);

	uint64_t hash = hash_bytes(s->frames, count * sizeof(s->frames[0])) ^
			hash_number(wire->kernel_count);
	uint64_t *number = map_insert(&e->stacks, hash);

	if (!*number) {
		*number = ++e->stack_count;
		s->head = (struct record)HEAD(&wire->head, RECORD_STACK, *s);
		s->head.words = (sizeof(*s) + count * sizeof(s->frames[0]) + 7) / 8;
		s->stack = *number;
		s->kernel_count = wire->kernel_count;
		s->user_count = wire->user_count;
		sorter_add(e->sorter, stream, &s->head);
	} else {
		counter_add(e->counters, COUNTER_DUPLICATES, 1);
	}
	*map_insert(&e->pending[0], wire->stack) = *number;
}

void encoder_add(void *encoder, size_t stream, const struct record *record)
{
	struct encoder *e = encoder;
	const struct record_task *task = (const void *)record;

	if (record->kind == RECORD_STACK) {
		add_stack(e, stream, (const void *)record);
		return;
	}
	if (record->kind == RECORD_TASK &&
	    (task->event == TASK_EXEC || (task->event == TASK_NEW && record->tid == task->pid)))
		symbols_forget(e->symbols, task->pid);
	sorter_add(e->sorter, stream, record);
}

/* Translate the kernel's number of a stack, which is used once. */
static uint32_t stack_number(struct encoder *e, uint32_t kernel_number)
{
	for (size_t i = 0; kernel_number && i < ARRAY_LEN(e->pending); i++) {
		const uint64_t *number = map_find(&e->pending[i], kernel_number);
		uint32_t result = number ? *number : 0;

		if (number)
			map_remove(&e->pending[i], kernel_number);
		if (result)
			return result;
	}
	return 0;
}

static int put_wait(struct encoder *e, const struct record *record, struct err *err)
{
	struct record_wait wait = *(const struct record_wait *)(const void *)record;

	if (wait.stack || wait.waker_stack) {
		wait.stack = stack_number(e, wait.stack);
		wait.waker_stack = stack_number(e, wait.waker_stack);
	}
	return put(e, &wait, err);
}

static int put_sample(struct encoder *e, const struct record *record, struct err *err)
{
	struct record_sample sample = *(const struct record_sample *)(const void *)record;

	sample.stack = stack_number(e, sample.stack);
	return put(e, &sample, err);
}

/* The kernel programs reserve space for the longest data. */
static int put_probe_event(struct encoder *e, const struct record *record, struct err *err)
{
	struct wire_probe_event probe_event =
		*(const struct wire_probe_event *)(const void *)record;

	probe_event.head.words = (sizeof(struct record_probe_event) + probe_event.size + 7) / 8;
	return put(e, &probe_event, err);
}

/*
 * An agent reports every change of a thread's span; the kernel programs observe the same changes at
 * context switches.  Leave out observed contexts that repeat the last one written.
 */
static int put_context(struct encoder *e, const struct record *record, struct err *err)
{
	const struct record_context *c = (const void *)record;
	uint8_t key[sizeof(c->trace) + sizeof(c->span) + 1];

	memcpy(key, c->trace, sizeof(c->trace));
	memcpy(key + sizeof(c->trace), c->span, sizeof(c->span));
	key[sizeof(key) - 1] = c->flags & CONTEXT_UNKNOWN;

	uint64_t hash = hash_bytes(key, sizeof(key)) | 1;
	uint64_t *known = map_insert(&e->contexts, record->tid);

	if (c->flags & CONTEXT_OBSERVED && *known == hash) {
		counter_add(e->counters, COUNTER_DUPLICATES, 1);
		return 0;
	}
	*known = hash;

	struct living_task *task = task_table_find(&e->tasks, record->tid);

	if (task)
		task->context = *c;
	return put(e, record, err);
}

static int put_loss(struct encoder *e, const struct record_loss *loss, struct err *err)
{
	counter_add(e->counters, loss->head.tid ? COUNTER_EVENTS_LOST : COUNTER_KERNEL_LOST,
		    loss->count);
	return put(e, loss, err);
}

/* A thread again, with its process and its context. */
static int put_again(struct encoder *e, const struct living_task *l, nsec_t now, struct err *err)
{
	struct record_task task = l->task;
	struct record_process p = { .head = HEAD(&task.head, RECORD_PROCESS, p), .pid = task.pid };
	struct record_context context = l->context;

	task.head.time = p.head.time = context.head.time = context.since = now;
	task.head.words = sizeof(task) / 8;
	task.event = TASK_AGAIN;
	task.comm = put_string(e, l->comm, sizeof(l->comm));

	int r = put_added(e, &task, err);

	if (r == 0 && l->cmdline) {
		p.cmdline = sink_add_string(e->sink, l->cmdline);
		p.cgroup = sink_add_string(e->sink, l->cgroup);
		r = put_added(e, &p, err);
		if (r == 0)
			r = put_listeners(e, &task, now, err);
	}
	return r == 0 && context.head.words ? put_added(e, &context, err) : r;
}

static int put_epoch(struct encoder *e, nsec_t now, struct err *err)
{
	int r = sink_epoch(e->sink, now, err);

	map_done(&e->devices);
	e->devices = (struct map){ 0 };
	listeners_done(&e->listeners);
	task_table_sweep(&e->tasks);
	for (size_t i = 0; r == 0 && i < e->tasks.tasks.count; i++)
		r = put_again(e, &e->tasks.tasks.items[i], now, err);
	return r < 0 ? r : e->on_epoch(e->epoch_arg, now, err);
}

void encoder_on_epoch(struct encoder *e, encoder_epoch_fn *fn, void *arg)
{
	e->on_epoch = fn;
	e->epoch_arg = arg;
}

/*
 * Stacks that the sorter holds refer to descriptions of the epoch before.  A stack whose wait or
 * sample was lost is never used: it is given up after two epochs.
 */
void encoder_begin_epoch(struct encoder *e, nsec_t now)
{
	struct record_epoch epoch = {
		.head = { .time = now, .kind = RECORD_EPOCH, .words = sizeof(epoch) / 8 }
	};

	map_done(&e->stacks);
	map_done(&e->frames);
	map_done(&e->pending[1]);
	e->stacks = e->frames = (struct map){ 0 };
	e->pending[1] = e->pending[0];
	e->pending[0] = (struct map){ 0 };
	e->frames_old = e->frame_base;
	e->frame_base += e->frame_symbols.count;
	e->frame_symbols.count = 0;
	sorter_add(e->sorter, 0, &epoch.head);
}

int encoder_write(void *encoder, const struct record *record, struct err *err)
{
	struct encoder *e = encoder;
	int r;

	switch (record->kind) {
	case RECORD_TASK:
		return put_task(e, record, err);
	case RECORD_FILE:
		return put_file(e, record, err);
	case RECORD_WAIT:
		return put_wait(e, record, err);
	case RECORD_SAMPLE:
		return put_sample(e, record, err);
	case RECORD_PROBE_EVENT:
		return put_probe_event(e, record, err);
	case RECORD_CONTEXT:
		return put_context(e, record, err);
	case RECORD_EXIT:
		map_remove(&e->contexts, record->tid);
		task_table_remove(&e->tasks, record->tid);
		return put(e, record, err);
	case RECORD_BLOCK:
		r = put_device(e, record,
			       ((const struct record_block *)(const void *)record)->device, err);
		return r < 0 ? r : put(e, record, err);
	case RECORD_LOSS:
		return put_loss(e, (const void *)record, err);
	case RECORD_EPOCH:
		return put_epoch(e, record->time, err);
	default:
		return put(e, record, err);
	}
}

struct symbol_sink {
	struct encoder *e;
	nsec_t now;
	int result;
	struct err *err;
};

static void put_symbol(void *arg, size_t index, const struct symbol_function *chain, size_t count)
{
	struct symbol_sink *sink = arg;

	for (size_t i = 0; i < count && sink->result == 0; i++) {
		struct record_symbol s = {
			.head = { .time = sink->now,
				  .kind = RECORD_SYMBOL,
				  .words = sizeof(s) / 8 },
			.frame = sink->e->frame_base + index + 1,
			.depth = i,
			.name = sink_add_string(sink->e->sink, chain[i].name),
			.source = sink_add_string(sink->e->sink, chain[i].source),
			.line = chain[i].line,
			.offset = chain[i].offset,
		};

		sink->result = put_added(sink->e, &s, sink->err);
	}
}

int encoder_write_symbols(struct encoder *e, nsec_t now, struct err *err)
{
	struct symbol_sink sink = { e, now, 0, err };

	if (e->frame_symbols.count == 0)
		return 0;

	int r = symbol_resolve(e->symbols, e->frame_symbols.items, e->frame_symbols.count,
			       SYMBOL_BUDGET, put_symbol, &sink, err);

	return r < 0 ? r : sink.result;
}

int encoder_write_counters(struct encoder *e, nsec_t now, struct err *err)
{
	int r = 0;

	for (uint32_t i = 1; i < COUNTER_READ && r == 0; i++) {
		struct record_counter c = {
			.head = { .time = now, .kind = RECORD_COUNTER, .words = sizeof(c) / 8 },
			.count = e->counters->n[i],
			.counter = i,
		};

		if (c.count)
			r = sink_write(e->sink, &c.head, err);
	}
	return r;
}

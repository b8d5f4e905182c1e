/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/requests/sum.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"

struct call_use *request_use_call(struct request_use *use, int16_t nr)
{
	for (size_t i = 0; i < use->calls.count; i++)
		if (use->calls.items[i].nr == nr)
			return &use->calls.items[i];
	struct call_use *added = vec_push(&use->calls);

	*added = (struct call_use){ .nr = nr };
	return added;
}

struct probe_use *request_use_probe_event(struct request_use *use, uint32_t type)
{
	for (size_t i = 0; i < use->probe_events.count; i++)
		if (use->probe_events.items[i].type == type)
			return &use->probe_events.items[i];
	struct probe_use *added = vec_push(&use->probe_events);

	*added = (struct probe_use){ .type = type };
	return added;
}

static void add_calls(const struct thread *thread, const struct request_work *work,
		      struct request_use *use)
{
	const struct timeline *timeline = thread->timelines[TIMELINE_SYSCALLS];

	TIMELINE_EACH_BETWEEN(struct syscall, call, timeline, work->from, UINT64_MAX)
	{
		if (call->start >= work->to)
			break;

		nsec_t from = call->start > work->from ? call->start : work->from;
		nsec_t to = call->end < work->to ? call->end : work->to;
		struct call_use *u = request_use_call(use, call->nr);

		u->count++;
		u->time += to > from ? to - from : 0;
	}
}

static void add_probe_events(const struct thread *thread, const struct request_work *work,
			     struct request_use *use)
{
	const struct timeline *timeline = thread->timelines[TIMELINE_PROBE_EVENTS];

	TIMELINE_EACH_BETWEEN(struct probe_event, probe_event, timeline, work->from, work->to)
	request_use_probe_event(use, probe_event->type)->count++;
}

/*
 * The time of a message is its end.  Work starts with a receive, or after the send before it; it
 * ends with its last send, or with a receive for another request.
 */
static bool is_in_work(const struct message *m, const struct request_work *work)
{
	return m->time != (m->direction == MESSAGE_SEND ? work->from : work->to);
}

static void add_messages(const struct thread *thread, const struct request_work *work,
			 struct request_use *use)
{
	const struct timeline *timeline = thread->timelines[TIMELINE_MESSAGES];

	TIMELINE_EACH_BETWEEN(struct message, m, timeline, work->from, work->to + 1)
	{
		bool sent = m->direction == MESSAGE_SEND;

		if (!is_in_work(m, work))
			continue;
		*(sent ? &use->sends : &use->receives) += 1;
		*(sent ? &use->sent_bytes : &use->received_bytes) += m->bytes;
	}
}

static void add_states(const struct model *model, const struct request_work *work,
		       struct request_use *use)
{
	struct stretch s;
	nsec_t known = 0;
	bool more = model_stretch_at(model, work->thread, work->from, &s);

	for (; more && s.interval.start < work->to;
	     more = model_stretch_next(model, work->thread, &s)) {
		nsec_t from = s.interval.start > work->from ? s.interval.start : work->from;
		nsec_t to = s.end < work->to ? s.end : work->to;

		use->states[s.interval.state & 127] += to - from;
		known += to - from;
	}
	use->states[' '] += work->to - work->from - known;
}

void request_use_work(const struct model *model, const struct request_work *work,
		      struct request_use *use)
{
	const struct thread *thread = model_thread(model, work->thread);

	add_states(model, work, use);
	add_calls(thread, work, use);
	add_probe_events(thread, work, use);
	add_messages(thread, work, use);
}

void request_use_ended(const struct model *model, const struct request_work *work,
		       struct request_use *use)
{
	const struct thread *thread = model_thread(model, work->thread);

	add_states(model, work, use);
	add_probe_events(thread, work, use);
	TIMELINE_EACH_BETWEEN(struct syscall, call, thread->timelines[TIMELINE_SYSCALLS],
			      work->from, work->to)
	request_use_call(use, call->nr)->count++;
}

void request_use_add(const struct model *model, const struct requests *requests, uint32_t span,
		     struct request_use *use)
{
	const struct request_span *s = &requests->spans.items[span];

	for (uint32_t i = 0; i < s->work_count; i++)
		request_use_work(model, &requests->work.items[s->first_work + i], use);
}

void request_use_done(struct request_use *use)
{
	vec_done(&use->calls);
	vec_done(&use->probe_events);
}

const char *request_service(const struct model *model, thread_id thread)
{
	const struct thread *t = model_thread(model, thread);
	const struct process *process = model_process(model, t->host, t->pid);

	if (process && process->container.i)
		return model_string(model, process->container);
	return model_string(model, model_process_name(model, thread));
}

static void put_address(char *ret, size_t size, int family, const uint8_t *address, uint16_t port)
{
	char text[INET6_ADDRSTRLEN];

	if (family == AF_UNIX)
		snprintf(ret, size, "unix");
	if (family != AF_INET && family != AF_INET6)
		return;
	inet_ntop(family, address, text, sizeof(text));
	snprintf(ret, size, family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
}

struct request_address request_address(const struct model *model, const struct request_span *span)
{
	struct request_address a = { "", "" };
	const struct thread *thread = model_thread(model, span->thread);
	const struct socket *s = model_socket(model, thread->host, span->socket);

	if (!s || (span->kind != REQUEST_NETWORK && span->kind != REQUEST_CALL))
		return a;
	put_address(a.local, sizeof(a.local), s->address.family, s->address.local,
		    s->address.local_port);
	put_address(a.peer, sizeof(a.peer), s->address.family, s->address.peer,
		    s->address.peer_port);
	return a;
}

enum { SHAPE_DEPTH = 64, SHAPE_LENGTH = 2048 };

struct shape {
	const struct model *model;
	const struct requests *requests;
	VEC(char) text;
};

/* The children of a span that are written: the last one, and how often it is repeated. */
struct siblings {
	size_t from, length; /* of the last child's text */
	size_t count, repeated;
};

static void put_text(struct shape *shape, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		*vec_push(&shape->text) = text[i];
}

static void put_shape(struct shape *shape, uint32_t span, unsigned depth);

static void end_run(struct shape *shape, const struct siblings *s)
{
	char times[24];

	if (s->repeated)
		put_text(shape, times, snprintf(times, sizeof(times), " x%zu", s->repeated + 1));
}

/* Writes a child at the end of the text, and removes it if it repeats the child before. */
static void put_child(struct shape *shape, uint32_t span, struct siblings *s, unsigned depth)
{
	size_t from = shape->text.count;

	put_shape(shape, span, depth);

	size_t length = shape->text.count - from;
	_cleanup_(freep) char *text = must_alloc(length + 1);

	memcpy(text, shape->text.items + from, length);
	shape->text.count = from;
	if (s->count && length == s->length &&
	    memcmp(text, shape->text.items + s->from, length) == 0) {
		s->repeated++;
		return;
	}
	end_run(shape, s);
	put_text(shape, s->count ? "," : ">(", s->count ? 1 : 2);
	*s = (struct siblings){ shape->text.count, length, s->count + 1, 0 };
	put_text(shape, text, length);
}

/* Leaves out handoffs within a service, but not their calls to others. */
static void put_children(struct shape *shape, uint32_t span, struct siblings *s, unsigned depth)
{
	const struct request_span *spans = shape->requests->spans.items;

	for (uint32_t i = spans[span].first_child; i && depth < SHAPE_DEPTH; i = spans[i].next)
		if (spans[i].kind == REQUEST_HANDOFF)
			put_children(shape, i, s, depth + 1);
		else
			put_child(shape, i, s, depth + 1);
}

static void put_shape(struct shape *shape, uint32_t span, unsigned depth)
{
	const struct request_span *request = &shape->requests->spans.items[span];
	struct request_address address = request_address(shape->model, request);
	const char *service = request->kind == REQUEST_CALL
				      ? address.peer
				      : request_service(shape->model, request->thread);
	struct siblings s = { 0 };

	if (shape->text.count > SHAPE_LENGTH) {
		put_text(shape, "...", 3);
		return;
	}
	put_text(shape, *service ? service : "?", *service ? strlen(service) : 1);
	put_children(shape, span, &s, depth);
	end_run(shape, &s);
	if (s.count)
		put_text(shape, ")", 1);
}

char *request_shape(const struct model *model, const struct requests *requests, uint32_t root)
{
	struct shape shape = { .model = model, .requests = requests };

	put_shape(&shape, root, 0);
	*vec_push(&shape.text) = '\0';
	return shape.text.items;
}

struct summing {
	const struct span_set *spans;
	const struct model *model;
	const struct requests *requests;
	struct request_sum *sum;
	struct map entries, shapes;

	/* of the previous request, which usually came to the same address */
	struct socket_address last;
	str_id last_name;
};

static bool is_same_local(const struct socket_address *a, const struct socket_address *b)
{
	return a->family == b->family && a->local_port == b->local_port &&
	       memcmp(a->local, b->local, sizeof(a->local)) == 0;
}

/* Clients connect from anywhere, so an entry is named after the address that they connect to. */
static str_id entry_name(struct summing *s, const struct request_span *root)
{
	uint16_t host = model_thread(s->model, root->thread)->host;
	const struct socket *socket = model_socket(s->model, host, root->socket);

	if (socket && s->last_name.i && is_same_local(&socket->address, &s->last))
		return s->last_name;

	struct request_address a = request_address(s->model, root);

	s->last = socket ? socket->address : (struct socket_address){ 0 };
	s->last_name = strtab_add(s->sum->strings, a.local[0] ? a.local : "unknown");
	return s->last_name;
}

#define group_of(list, index, key) \
	({ \
		uint64_t *at_ = map_insert(index, key); \
		if (!*at_) { \
			*vec_push(list) = (struct request_group){ 0 }; \
			*at_ = (list)->count; \
		} \
		&(list)->items[*at_ - 1]; \
	})

static void add_path(struct summing *s, const struct request_span *root, struct request_group *g)
{
	_cleanup_(account_done) struct account account = { 0 };
	span_id id = span_set_find(s->spans, root->trace, root->id);

	if (!id.i || root->no_reply)
		return;
	account_of_span_brief(s->spans, id, &account);
	path_shares_add(&g->path, s->spans, &account, 1);
	cause_sum_add(&g->causes, s->spans, &account);
}

static int most_first(const void *a, const void *b)
{
	const struct request_group *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->name.i < y->name.i ? -1 : x->name.i > y->name.i;
}

static void finish_groups(struct request_group *groups, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct request_group *g = &groups[i];

		g->latency = latency_of(&g->times);
		vec_done(&g->times);
		path_shares_finish(&g->path);
		cause_sum_finish(&g->causes);
	}
}

/* A request without a reply has no duration. */
static void count_request(struct request_group *g, const struct request_span *span)
{
	g->count++;
	if (span->no_reply)
		g->no_reply++;
	else
		*vec_push(&g->times) = span->end - span->start;
}

static void add_request(struct summing *s, uint32_t root)
{
	const struct request_span *span = &s->requests->spans.items[root];
	_cleanup_(freep) char *shape = request_shape(s->model, s->requests, root);
	str_id name = entry_name(s, span), text = strtab_add(s->sum->strings, shape);
	struct request_group *entry = group_of(&s->sum->entries, &s->entries, name.i);

	entry->name = name;
	entry->service = strtab_add(s->sum->strings, request_service(s->model, span->thread));
	count_request(entry, span);

	struct request_group *g =
		group_of(&s->sum->shapes, &s->shapes, (uint64_t)name.i << 32 | text.i);

	g->name = text;
	g->entry = name.i; /* until number_entries() */
	count_request(g, span);
	add_path(s, span, g);
}

static void number_entries(struct request_sum *sum)
{
	struct map indexes = { 0 };

	for (size_t i = 0; i < sum->entries.count; i++)
		*map_insert(&indexes, sum->entries.items[i].name.i) = i;
	for (size_t i = 0; i < sum->shapes.count; i++)
		sum->shapes.items[i].entry = *map_find(&indexes, sum->shapes.items[i].entry);
	map_done(&indexes);
}

void request_sum_find(const struct span_set *spans, const struct requests *requests,
		      const uint32_t *roots, size_t count, struct request_sum *ret)
{
	struct summing s = {
		.spans = spans, .model = spans->model, .requests = requests, .sum = ret
	};

	*ret = (struct request_sum){ .strings = strtab_new() };
	for (size_t i = 0; i < requests->roots.count; i++)
		ret->unparented += requests->spans.items[requests->roots.items[i]].parent_unknown;
	for (size_t i = 0; i < count; i++)
		if (!requests->spans.items[roots[i]].parent_unknown)
			add_request(&s, roots[i]);
	map_done(&s.entries);
	map_done(&s.shapes);
	finish_groups(ret->entries.items, ret->entries.count);
	finish_groups(ret->shapes.items, ret->shapes.count);
	if (ret->entries.count)
		qsort(ret->entries.items, ret->entries.count, sizeof(struct request_group),
		      most_first);
	number_entries(ret);
	if (ret->shapes.count)
		qsort(ret->shapes.items, ret->shapes.count, sizeof(struct request_group),
		      most_first);
}

static void groups_done(struct request_group *groups, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		path_shares_done(&groups[i].path);
		cause_sum_done(&groups[i].causes);
	}
}

void request_sum_done(struct request_sum *sum)
{
	groups_done(sum->entries.items, sum->entries.count);
	groups_done(sum->shapes.items, sum->shapes.count);
	vec_done(&sum->entries);
	vec_done(&sum->shapes);
	strtab_free(sum->strings);
}

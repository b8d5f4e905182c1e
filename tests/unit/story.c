/* SPDX-License-Identifier: Apache-2.0 */
#include "story.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "analyse/path.h"
#include "test.h"

void story_done(struct story *s)
{
	vec_done(&s->events);
}

static const char *get_string(const void *arg, uint32_t id)
{
	static const char *const names[] = { "python3", "java", "VM Thread", "postgres" };
	static char text[32];

	if (id >= STRING_PYTHON && id - STRING_PYTHON < ARRAY_LEN(names))
		return names[id - STRING_PYTHON];
	snprintf(text, sizeof(text), "string %u", id);
	return id ? text : "";
}

struct source story_source(uint16_t host)
{
	return (struct source){ .get_string = get_string, .host = host };
}

void story_add(struct story *s, const struct record *record)
{
	struct story_event *event = vec_push(&s->events);

	*event = (struct story_event){ .order = s->events.count, .host = s->host };
	memcpy(&event->record, record, record->words * 8u);
}

void story_begin(struct story *s, uint32_t tid, nsec_t time)
{
	story_add(s, REC(TASK, task, time, tid, .pid = tid, .event = TASK_EXISTING));
}

void story_create(struct story *s, uint32_t tid, uint32_t parent, nsec_t time)
{
	story_add(s, REC(TASK, task, time, tid, .pid = tid, .parent = parent, .event = TASK_NEW));
}

void story_run(struct story *s, uint32_t tid, nsec_t start, nsec_t end)
{
	story_add(s, REC(RUN, run, end, tid, .start = start));
}

void story_wait(struct story *s, uint32_t tid, nsec_t start, nsec_t end, enum state state,
		uint32_t waker)
{
	story_add(s, REC(WAIT, wait, end, tid, .start = start, .woken = end, .state = state,
			 .ready = STATE_READY, .waker = waker,
			 .context = waker ? WAKE_TASK : WAKE_NONE));
}

void story_wait_packet(struct story *s, uint32_t tid, nsec_t start, nsec_t end)
{
	story_add(s, REC(WAIT, wait, end, tid, .start = start, .woken = end, .state = STATE_NETWORK,
			 .ready = STATE_READY, .context = WAKE_SOFTIRQ, .vector = VECTOR_NET_RX));
}

/* Ports have the numbers of their sockets. */
static void story_socket(struct story *s, uint64_t socket, uint64_t peer)
{
	struct socket_address address = { .family = AF_INET,
					  .protocol = IPPROTO_TCP,
					  .local_port = socket,
					  .peer_port = peer,
					  .local = { 10, 0, 0, 1 },
					  .peer = { 10, 0, 0, 1 } };

	story_add(s, REC(SOCKET, socket, 0, 0, .object = socket, .address = address));
}

void story_connect(struct story *s, uint64_t n)
{
	story_socket(s, n, n + 1);
	story_socket(s, n + 1, n);
}

void story_send(struct story *s, uint32_t tid, nsec_t time, uint64_t socket, uint32_t position,
		uint32_t bytes)
{
	story_add(s,
		  REC(MESSAGE, message, time, tid, .object = socket, .bytes = bytes,
		      .position = position, .direction = MESSAGE_SEND, .object_kind = OBJECT_INET));
}

void story_receive(struct story *s, uint32_t tid, nsec_t time, uint64_t socket, uint32_t position,
		   uint32_t bytes)
{
	story_add(s, REC(MESSAGE, message, time, tid, .object = socket, .bytes = bytes,
			 .position = position, .direction = MESSAGE_RECEIVE,
			 .object_kind = OBJECT_INET));
}

void story_span(struct story *s, nsec_t start, nsec_t end, uint8_t id, uint8_t parent, uint32_t tid)
{
	story_add(s, REC(SPAN, span, end, tid, .start = start, .trace = { 1, s->trace },
			 .span = { id }, .parent = { parent }, .service = 20, .operation = id));
}

void story_context(struct story *s, uint32_t tid, nsec_t time, uint8_t id)
{
	story_add(s, REC(CONTEXT, context, time, tid, .since = time, .trace = { 1, s->trace },
			 .span = { id }));
}

void story_observed(struct story *s, uint32_t tid, nsec_t since, nsec_t time, uint8_t id)
{
	story_add(s, REC(CONTEXT, context, time, tid, .since = since, .trace = { 1, s->trace },
			 .span = { id }, .flags = CONTEXT_OBSERVED));
}

void story_unknown(struct story *s, uint32_t tid, nsec_t time)
{
	story_add(s, REC(CONTEXT, context, time, tid, .since = time, .flags = CONTEXT_UNKNOWN));
}

static int by_time(const void *a, const void *b)
{
	const struct story_event *x = a, *y = b;

	if (x->record.head.time != y->record.head.time)
		return x->record.head.time < y->record.head.time ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

struct model *story_model(const struct story *s)
{
	_cleanup_(freep) struct story_event *events =
		must_alloc((s->events.count + 1) * sizeof(*events));
	struct model *model = model_new();

	if (s->events.count)
		memcpy(events, s->events.items, s->events.count * sizeof(*events));
	qsort(events, s->events.count, sizeof(*events), by_time);
	for (size_t i = 0; i < s->events.count; i++) {
		struct source source = story_source(events[i].host);

		model_add(model, &source, &events[i].record.head);
	}
	model_finish(model);
	return model;
}

static size_t print_steps(FILE *file, const struct span_set *spans, const struct path *path,
			  size_t i, uint32_t parent)
{
	const struct model *model = spans->model;

	for (bool first = true; i < path->steps.count && path->steps.items[i].parent == parent;
	     first = false) {
		const struct step *s = &path->steps.items[i];

		fprintf(file, "%s%u%c%s%s%s%s", first ? "" : ", ",
			model_thread(model, s->thread)->tid, s->state,
			s->flags & STEP_TRANSIT ? "~" : "", s->flags & STEP_UNEXPLAINED ? "!" : "",
			s->flags & STEP_QUEUEING ? "^" : "", s->flags & STEP_SENDING ? "_" : "");
		if (s->other_span.i && !parent)
			fprintf(file, ">%" PRIu64, span_set_at(spans, s->other_span)->socket);
		if (s->other && !parent)
			fprintf(file, ">%u", model_span_ref(model, s->other)->id[0]);
		fprintf(file, " %" PRIu64 "-%" PRIu64, s->start, s->end);
		i++;
		if (s->is_leaf)
			continue;
		fprintf(file, " (");
		i = print_steps(file, spans, path, i, i);
		fprintf(file, ")");
	}
	return i;
}

static char *path_text(const struct span_set *spans, const struct path *path)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	CHECK_INT(print_steps(file, spans, path, 0, 0), path->steps.count);
	fclose(file);
	return text;
}

char *story_path(const struct model *model, uint32_t tid, nsec_t from, nsec_t to)
{
	_cleanup_(path_done) struct path path = { 0 };

	path_of_thread(model, model_find_thread(model, tid, UINT64_MAX), from, to, &path);
	return path_text(&(struct span_set){ .model = model }, &path);
}

span_id story_find_span(const struct model *model, uint8_t id)
{
	for (uint32_t i = 1; i < model_span_count(model); i++)
		if (model_span(model, (span_id){ i })->id[0] == id)
			return (span_id){ i };
	return (span_id){ 0 };
}

char *story_span_path(const struct model *model, uint8_t id)
{
	return story_path_of(&(struct span_set){ .model = model }, story_find_span(model, id));
}

char *story_path_of(const struct span_set *spans, span_id span)
{
	_cleanup_(path_done) struct path path = { 0 };

	path_of_span(spans, span, &path);
	return path_text(spans, &path);
}

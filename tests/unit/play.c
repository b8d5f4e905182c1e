/* SPDX-License-Identifier: Apache-2.0 */
#include "play.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "test.h"

void play_done(struct play *p)
{
	story_done(&p->story);
}

static void tell_side(struct play *p, uint64_t object, uint16_t local, uint16_t peer)
{
	struct socket_address address = { .family = AF_INET,
					  .protocol = IPPROTO_TCP,
					  .local_port = local,
					  .peer_port = peer,
					  .local = { 10, 0, 0, 1 },
					  .peer = { 10, 0, 0, 1 } };

	story_add(&p->story, REC(SOCKET, socket, 0, 0, .object = object, .address = address));
}

void play_connection(struct play *p, unsigned c)
{
	tell_side(p, CLIENT + c, CLIENT + c, SERVER + c);
	tell_side(p, SERVER + c, SERVER + c, CLIENT + c);
}

void play_thread(struct play *p, uint32_t tid, uint32_t pid)
{
	story_add(&p->story, REC(TASK, task, 0, tid, .pid = pid, .event = TASK_EXISTING));
	story_run(&p->story, tid, 0, 1);
}

void play_call(struct play *p, nsec_t t, uint32_t tid, unsigned c)
{
	story_send(&p->story, tid, t, CLIENT + c, 1 + (p->sent[c] += 10), 10);
}

/* Of a client that is not recorded. */
void play_unrecorded_call(struct play *p, unsigned c)
{
	p->sent[c] += 10;
}

void play_receive_call(struct play *p, nsec_t t, uint32_t tid, unsigned c)
{
	story_receive(&p->story, tid, t, SERVER + c, 1 + p->sent[c], 10);
}

void play_reply(struct play *p, nsec_t t, uint32_t tid, unsigned c)
{
	story_send(&p->story, tid, t, SERVER + c, 1 + (p->replied[c] += 20), 20);
}

void play_receive_reply(struct play *p, nsec_t t, uint32_t tid, unsigned c)
{
	story_receive(&p->story, tid, t, CLIENT + c, 1 + p->replied[c], 20);
}

void play_wait(struct play *p, nsec_t from, nsec_t to, uint32_t tid, uint32_t waker, uint64_t futex)
{
	story_add(&p->story, REC(WAIT, wait, to, tid, .start = from, .woken = to,
				 .state = STATE_LOCK, .ready = STATE_READY, .waker = waker,
				 .context = WAKE_TASK, .syscall = 202, .object_kind = OBJECT_FUTEX,
				 .object = futex, .flags = futex == FUTEX ? INTERVAL_SIGNAL : 0));
}

void play_poll(struct play *p, nsec_t from, nsec_t to, uint32_t tid, uint32_t waker)
{
	story_add(&p->story, REC(WAIT, wait, to, tid, .start = from, .woken = to,
				 .state = STATE_PROCESS, .ready = STATE_READY, .waker = waker,
				 .context = waker ? WAKE_TASK : WAKE_SOFTIRQ, .syscall = 232,
				 .object_kind = OBJECT_EPOLL));
}

static void put_tree(FILE *file, const struct model *model, const struct requests *r, uint32_t at)
{
	static const char *const kinds[] = { "", "f", "h" };
	const struct request_span *span = &r->spans.items[at];

	fprintf(file, "%s%s%u", span->parent_unknown ? "?" : "", kinds[span->kind],
		model_thread(model, span->thread)->tid);
	for (uint32_t i = span->first_child; i; i = r->spans.items[i].next) {
		fputs(i == span->first_child ? "(" : " ", file);
		put_tree(file, model, r, i);
	}
	fputs(span->first_child ? ")" : "", file);
}

void play_check_trees(const struct play *p, const char *want)
{
	_cleanup_(model_freep) struct model *model = story_model(&p->story);
	_cleanup_(requests_done) struct requests requests;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	requests_find(model, &requests);
	for (size_t i = 0; i < requests.roots.count; i++) {
		fputs(i ? " " : "", file);
		put_tree(file, model, &requests, requests.roots.items[i]);
	}
	fclose(file);
	CHECK_STR(text, want);
	free(text);
}

/* An exchange with service 2 over connection c, from its question on. */
void play_exchange(struct play *p, nsec_t t, uint32_t tid, unsigned c)
{
	play_call(p, t, tid, c);
	play_receive_call(p, t + 1, 2, c);
	play_reply(p, t + 2, 2, c);
	play_receive_reply(p, t + 3, tid, c);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>

#include "service.h"

bool request_take(struct service *s, struct link *l, struct request *ret)
{
	struct http_call received;
	size_t size = http_request(l->buf, l->used, &received);

	if (!size)
		return false;

	struct entry *e = log_entry(s->log);
	memcpy(e->id, received.id, sizeof(e->id));
	memcpy(e->hop, received.hop, sizeof(e->hop));
	e->ends = l->ends;
	e->pid = (uint32_t)getpid();
	e->reader = l->first.tid;
	e->read = l->first.time;
	e->got = (uint32_t)size;
	link_take(l, size);
	*ret = (struct request){ .link = l, .entry = e, .close = received.close };
	return true;
}

bool request_await(struct service *s, struct link *l, struct request *ret)
{
	while (!request_take(s, l, ret))
		if (link_read(l, &s->how) <= 0)
			return false;
	return true;
}

/* The time differs by request, so that requests do not end in the order in which they began. */
nsec_t request_time(const struct request *r, const struct range *range)
{
	uint64_t hash = 14695981039346656037u;

	for (const char *c = r->entry->id; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 1099511628211u;
	for (const char *c = r->entry->hop; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 1099511628211u;
	return range->least + (hash >> 20) % (range->most - range->least + 1);
}

static void spin(const struct service *s, nsec_t time)
{
	unsigned long steps = s->spin * time / NSEC_PER_USEC;

	for (volatile unsigned long i = 0; i < steps;)
		i = i + 1;
}

void request_compute(struct service *s, struct request *r)
{
	r->entry->worker = (uint32_t)gettid();
	spin(s, request_time(r, &s->work));
	if (!s->lock.most)
		return;
	pthread_mutex_lock(&s->shared);
	spin(s, request_time(r, &s->lock));
	pthread_mutex_unlock(&s->shared);
}

struct call_job { /* for a thread that makes one call */
	struct service *service;
	struct entry *entry;
	size_t number;
};

static void *run_call_job(void *arg)
{
	struct call_job *e = arg;
	struct service *s = e->service;
	struct call c = call_begin(&s->targets[e->number], e->entry, e->number, &s->how);

	call_end(&c, &s->how);
	return NULL;
}

static void call_in_threads(struct service *s, struct entry *entry)
{
	struct call_job jobs[MAX_CALLS];
	pthread_t threads[MAX_CALLS];

	for (size_t i = 0; i < s->target_count; i++) {
		jobs[i] = (struct call_job){ .service = s, .entry = entry, .number = i };
		start_thread(run_call_job, &jobs[i], &threads[i]);
	}
	for (size_t i = 0; i < s->target_count; i++)
		pthread_join(threads[i], NULL);
}

static void call_all(struct service *s, struct entry *entry)
{
	struct call calls[MAX_CALLS];

	for (size_t i = 0; i < s->target_count; i++) {
		calls[i] = call_begin(&s->targets[i], entry, i, &s->how);
		if (s->parallel == PARALLEL_NO)
			call_end(&calls[i], &s->how);
	}
	for (size_t i = 0; s->parallel == PARALLEL_SEND && i < s->target_count; i++)
		call_end(&calls[i], &s->how);
}

void request_work(struct service *s, struct request *r)
{
	nsec_t sleep = request_time(r, &s->sleep);

	request_compute(s, r);
	if (sleep)
		nanosleep(&(struct timespec){ .tv_sec = (time_t)(sleep / NSEC_PER_SEC),
					      .tv_nsec = (long)(sleep % NSEC_PER_SEC) },
			  NULL);
	r->entry->call_count = (uint32_t)s->target_count;
	if (s->parallel == PARALLEL_THREADS)
		call_in_threads(s, r->entry);
	else
		call_all(s, r->entry);
}

size_t request_format_reply(struct service *s, const struct request *r, char *buf, size_t room)
{
	return http_format_reply(buf, room, s->bytes, r->close);
}

void request_log_reply(struct request *r, size_t bytes)
{
	r->entry->replier = (uint32_t)gettid();
	r->entry->gave = (uint32_t)bytes;
	r->entry->replying = now();
}

void request_reply(struct service *s, struct request *r)
{
	char reply[LINK_ROOM];
	size_t size = request_format_reply(s, r, reply, sizeof(reply));

	request_log_reply(r, size);
	link_send(r->link, &s->how, reply, size);
	r->entry->replied = now();
}

void serve_link(struct service *s, struct link *l,
		void (*handle)(struct service *, struct request *))
{
	struct request r = { 0 };

	while (!r.close && request_await(s, l, &r))
		handle(s, &r);
	link_free(l);
}

pid_t fork_child(void)
{
	pid_t parent = getpid(), child = fork();

	if (child < 0)
		die("cannot fork");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	return child;
}

void start_thread(void *(*body)(void *), void *arg, pthread_t *ret)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, body, arg);

	if (error) {
		errno = error;
		die("cannot start a thread");
	}
	if (ret)
		*ret = thread;
	else
		pthread_detach(thread);
}

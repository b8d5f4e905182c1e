/* SPDX-License-Identifier: Apache-2.0 */
#include "event/write_queue.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "base/vec.h"

struct queued_block {
	unsigned char *data;
	size_t size, header;
	uint64_t at;
};

struct write_queue {
	int fd;
	write_fn *write;
	size_t limit;
	pthread_t thread;
	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t changed;
	VEC(struct queued_block) blocks;
	size_t first;  /* index of the first unwritten block */
	size_t queued; /* size of the unwritten blocks, bytes */
	uint64_t end;
	int failed; /* negative errno */
	bool stop;
};

static int write_block(const struct write_queue *q, const struct queued_block *b)
{
	int r = q->write(q->fd, b->data + b->header, b->size - b->header, b->at + b->header);

	return r < 0 ? r : q->write(q->fd, b->data, b->header, b->at);
}

/* Wait for the next block; false at the end.  Call with the lock held. */
static bool await_block(struct write_queue *q, struct queued_block *ret)
{
	while (q->first == q->blocks.count && !q->stop)
		pthread_cond_wait(&q->changed, &q->lock);
	if (q->stop || q->failed)
		return false;
	*ret = q->blocks.items[q->first];
	return true;
}

/* Call with the lock held. */
static void remove_first(struct write_queue *q)
{
	struct queued_block *b = &q->blocks.items[q->first++];

	q->queued -= b->size;
	free(TAKE(b->data));
	if (q->first == q->blocks.count)
		q->first = q->blocks.count = 0;
}

static void *write_all(void *arg)
{
	struct write_queue *q = arg;
	struct queued_block block;

	pthread_mutex_lock(&q->lock);
	while (await_block(q, &block)) {
		pthread_mutex_unlock(&q->lock);

		int r = write_block(q, &block);

		pthread_mutex_lock(&q->lock);
		if (r < 0)
			q->failed = r;
		else
			q->end = block.at + block.size;
		remove_first(q);
		pthread_cond_broadcast(&q->changed);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

struct write_queue *write_queue_new(int fd, size_t limit, uint64_t end, write_fn *write)
{
	struct write_queue *q = must_alloc(sizeof(*q));
	sigset_t all, before;

	q->fd = fd;
	q->write = write;
	q->limit = limit;
	q->end = end;
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->changed, NULL);
	sigfillset(&all); /* the main thread handles signals */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	errno = pthread_create(&q->thread, NULL, write_all, q);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (errno) {
		free(q);
		return NULL;
	}
	return q;
}

void write_queue_free(struct write_queue *q)
{
	if (!q)
		return;
	pthread_mutex_lock(&q->lock);
	q->stop = true;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
	for (size_t i = q->first; i < q->blocks.count; i++)
		free(q->blocks.items[i].data);
	vec_done(&q->blocks);
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

int write_queue_put(struct write_queue *q, void *block, size_t size, size_t header, uint64_t at)
{
	pthread_mutex_lock(&q->lock);
	while (q->queued > q->limit && !q->failed)
		pthread_cond_wait(&q->changed, &q->lock);

	int r = q->failed;

	if (r < 0) {
		free(block);
	} else {
		*vec_push(&q->blocks) = (struct queued_block){ block, size, header, at };
		q->queued += size;
	}
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
	return r;
}

int write_queue_flush(struct write_queue *q)
{
	pthread_mutex_lock(&q->lock);
	while (q->first < q->blocks.count && !q->failed)
		pthread_cond_wait(&q->changed, &q->lock);

	int r = q->failed;

	pthread_mutex_unlock(&q->lock);
	return r;
}

uint64_t write_queue_end(struct write_queue *q)
{
	pthread_mutex_lock(&q->lock);

	uint64_t end = q->end;

	pthread_mutex_unlock(&q->lock);
	return end;
}

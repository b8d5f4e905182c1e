/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_SIZE = 256 << 10 };

/* Bytes from `from` to `to` are in use. */
struct byte_queue {
	uint8_t *data;
	size_t from, to, room;
};

struct channel {
	int fd;
	size_t queue_max;
	struct byte_queue in, out;
};

/* Makes room for more bytes.  Each byte is moved at most once per time that the queue doubles. */
static void queue_reserve(struct byte_queue *q, size_t more)
{
	size_t used = q->to - q->from;

	if (q->room - q->to >= more)
		return;
	if (q->from && q->from >= used && q->room - used >= more) {
		memcpy(q->data, q->data + q->from, used);
	} else {
		size_t room = 2 * (used + more);
		uint8_t *data = must_realloc(NULL, room);

		if (used)
			memcpy(data, q->data + q->from, used);
		free(q->data);
		q->data = data;
		q->room = room;
	}
	q->from = 0;
	q->to = used;
}

static void queue_add(struct byte_queue *q, const void *bytes, size_t size)
{
	if (!size)
		return;
	queue_reserve(q, size);
	memcpy(q->data + q->to, bytes, size);
	q->to += size;
}

/* A queue that was large once gives its memory back when it is empty. */
static void queue_drop(struct byte_queue *q, size_t size)
{
	q->from += size;
	if (q->from < q->to)
		return;
	q->from = q->to = 0;
	if (q->room > 4 * READ_SIZE) {
		free(q->data);
		*q = (struct byte_queue){ 0 };
	}
}

struct channel *channel_new(int fd, size_t queue_max)
{
	struct channel *c = must_alloc(sizeof(*c));

	c->fd = fd;
	c->queue_max = queue_max;
	return c;
}

void channel_free(struct channel *c)
{
	if (!c)
		return;
	close(c->fd);
	free(c->in.data);
	free(c->out.data);
	free(c);
}

int channel_fd(const struct channel *c)
{
	return c->fd;
}

bool channel_has_queued(const struct channel *c)
{
	return c->out.to > c->out.from;
}

void channel_flush(struct channel *c)
{
	while (channel_has_queued(c)) {
		ssize_t n = send(c->fd, c->out.data + c->out.from, c->out.to - c->out.from,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		queue_drop(&c->out, n);
	}
}

int channel_send(struct channel *c, const struct channel_message *head, struct view body)
{
	struct channel_message message = *head;
	size_t size = sizeof(message) + body.len;

	if (body.len > CHANNEL_BODY_MAX || c->out.to - c->out.from + size > c->queue_max)
		return -ENOBUFS;
	message.size = body.len;
	queue_add(&c->out, &message, sizeof(message));
	queue_add(&c->out, body.s, body.len);
	channel_flush(c);
	return 0;
}

/* Reads as much as is there, at most READ_SIZE: 1; 0 if there is nothing; -EPIPE at the end. */
static int read_more(struct channel *c)
{
	ssize_t n;

	queue_reserve(&c->in, READ_SIZE);
	do
		n = recv(c->fd, c->in.data + c->in.to, READ_SIZE, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 0;
	if (n <= 0)
		return -EPIPE;
	c->in.to += n;
	return 1;
}

int channel_receive(struct channel *c, struct channel_message *ret, struct view *ret_body)
{
	queue_drop(&c->in, 0);
	for (;;) {
		size_t used = c->in.to - c->in.from;
		int r;

		if (used >= sizeof(*ret)) {
			memcpy(ret, c->in.data + c->in.from, sizeof(*ret));
			if (ret->size > CHANNEL_BODY_MAX || ret->split > ret->size)
				return -EBADMSG;
			if (used - sizeof(*ret) >= ret->size)
				break;
		}
		r = read_more(c);
		if (r <= 0)
			return r;
	}
	*ret_body = (struct view){ (char *)c->in.data + c->in.from + sizeof(*ret), ret->size };
	c->in.from += sizeof(*ret) + ret->size; /* stays until the next call */
	return 1;
}

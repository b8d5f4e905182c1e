/* SPDX-License-Identifier: Apache-2.0 */
#include "event/stream_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	PIPE_SIZE = 1024 * 1024,       /* what an unprivileged process can set by default */
	SOCKET_SIZE = 4 * 1024 * 1024, /* the kernel reduces it to net.core.wmem_max */
	PIECES_AT_ONCE = 16,
	LONG = 2 * 1024 * 1024, /* bytes of a queue that is not usual */
};

void stream_queue_init(struct stream_queue *q, int fd)
{
	struct stat st;
	int size = SOCKET_SIZE;

	*q = (struct stream_queue){ .fd = fd };
	if (fstat(fd, &st) < 0)
		return;
	q->is_socket = S_ISSOCK(st.st_mode);
	if (q->is_socket)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	else if (S_ISFIFO(st.st_mode))
		fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE);
}

void stream_queue_done(struct stream_queue *q)
{
	for (size_t i = q->first; i < q->pieces.count; i++)
		free(q->pieces.items[i].data);
	vec_done(&q->pieces);
}

/* The number of bytes written, 0 if the descriptor accepts none, or a negative errno. */
static ssize_t write_now(const struct stream_queue *q, struct iovec *iov, size_t count)
{
	struct msghdr message = { .msg_iov = iov, .msg_iovlen = count };
	ssize_t n;

	do
		n = q->is_socket ? sendmsg(q->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL)
				 : writev(q->fd, iov, count);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == ENOBUFS))
		return 0;
	if (n < 0 && errno == ECONNRESET)
		return -EPIPE; /* the reader closed a socket with unread bytes in it */
	return n < 0 ? -errno : n;
}

/* Queue the part of two pieces that follows the first `sent` bytes. */
static void queue_rest(struct stream_queue *q, const struct iovec iov[2], size_t sent)
{
	size_t size = iov[0].iov_len + iov[1].iov_len, head = iov[0].iov_len;
	unsigned char *rest = must_realloc(NULL, size - sent), *to = rest;

	if (sent < head) {
		memcpy(to, (const char *)iov[0].iov_base + sent, head - sent);
		to += head - sent;
		sent = head;
	}
	if (sent < size)
		memcpy(to, (const char *)iov[1].iov_base + (sent - head), size - sent);
	to += size - sent;
	*vec_push(&q->pieces) = (struct stream_piece){ rest, to - rest };
	q->queued += to - rest;
	q->was_long |= q->queued > LONG;
}

int stream_queue_put(struct stream_queue *q, const void *header, size_t header_size,
		     const void *payload, size_t payload_size)
{
	struct iovec iov[2] = { { (void *)header, header_size },
				{ (void *)payload, payload_size } };
	ssize_t sent = q->queued ? 0 : write_now(q, iov, 2);

	if (sent < 0)
		return sent;
	if ((size_t)sent < header_size + payload_size)
		queue_rest(q, iov, sent);
	return 0;
}

/* Remove `sent` bytes from the start of the queue. */
static void remove_sent(struct stream_queue *q, size_t sent)
{
	q->queued -= sent;
	sent += q->sent;
	while (q->first < q->pieces.count && sent >= q->pieces.items[q->first].size) {
		sent -= q->pieces.items[q->first].size;
		free(q->pieces.items[q->first++].data);
	}
	q->sent = sent;
	if (2 * q->first >= q->pieces.count) { /* so that each piece moves at most twice */
		q->pieces.count -= q->first;
		memmove(q->pieces.items, q->pieces.items + q->first,
			q->pieces.count * sizeof(q->pieces.items[0]));
		q->first = 0;
	}
}

int stream_queue_write(struct stream_queue *q)
{
	while (q->queued) {
		struct iovec iov[PIECES_AT_ONCE];
		size_t count = 0, size = 0;

		for (size_t i = q->first; i < q->pieces.count && count < PIECES_AT_ONCE; i++) {
			size_t skip = i == q->first ? q->sent : 0;
			const struct stream_piece *piece = &q->pieces.items[i];

			iov[count++] = (struct iovec){ piece->data + skip, piece->size - skip };
			size += piece->size - skip;
		}
		ssize_t sent = write_now(q, iov, count);

		if (sent < 0)
			return sent;
		remove_sent(q, sent);
		if ((size_t)sent < size)
			return 0;
	}
	if (q->was_long) /* the memory of a stall goes back to the system */
		malloc_trim(0);
	q->was_long = false;
	return 0;
}

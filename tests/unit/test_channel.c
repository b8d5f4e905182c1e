/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between the relay and the annotating process. */
#include "relay/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test.h"

enum { QUEUE = 1 << 20 };

struct pair {
	struct channel *a, *b;
};

static struct pair make_pair(void)
{
	int ends[2];

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	return (struct pair){ channel_new(ends[0], QUEUE), channel_new(ends[1], QUEUE) };
}

static void pair_done(struct pair *p)
{
	channel_free(p->a);
	channel_free(p->b);
}

static struct view text(const char *s)
{
	return (struct view){ s, strlen(s) };
}

TEST(messages_arrive_in_order_with_their_bodies)
{
	_cleanup_(pair_done) struct pair p = make_pair();
	struct channel_message m;
	struct view body;

	for (uint64_t i = 0; i < 1009; i++)
		CHECK_INT(
			channel_send(p.a,
				     &(struct channel_message){ .kind = CHANNEL_SLOW, .number = i },
				     text(i % 2 ? "odd" : "")),
			0);
	for (uint64_t i = 0; i < 1009; i++) {
		channel_flush(p.a);
		CHECK_INT(channel_receive(p.b, &m, &body), 1);
		CHECK_INT(m.number, i);
		CHECK_INT(body.len, i % 2 ? 3 : 0);
	}
	CHECK_INT(channel_receive(p.b, &m, &body), 0);
}

TEST(a_body_larger_than_the_socket_arrives_in_parts)
{
	_cleanup_(pair_done) struct pair p = make_pair();
	size_t size = QUEUE - 100;
	_cleanup_(freep) char *large = must_alloc(size);
	struct channel_message m;
	struct view body;
	int r = 0;

	memset(large, 'x', size);
	CHECK_INT(channel_send(p.a, &(struct channel_message){ .kind = CHANNEL_SPANS },
			       (struct view){ large, size }),
		  0);
	CHECK(channel_has_queued(p.a));
	for (int i = 0; r == 0 && i < 1000; i++) {
		r = channel_receive(p.b, &m, &body);
		channel_flush(p.a);
	}
	CHECK_INT(r, 1);
	CHECK(body.len == size && memcmp(body.s, large, size) == 0);
}

TEST(a_full_queue_refuses_a_message_and_keeps_the_others)
{
	_cleanup_(pair_done) struct pair p = make_pair();
	_cleanup_(freep) char *part = must_alloc(QUEUE / 4);
	struct view body = { part, QUEUE / 4 }, got;
	struct channel_message m;
	size_t sent = 0, received = 0;

	while (channel_send(p.a, &(struct channel_message){ .kind = CHANNEL_SPANS }, body) == 0)
		sent++;
	CHECK_INT(channel_send(p.a, &(struct channel_message){ .kind = CHANNEL_SPANS }, body),
		  -ENOBUFS);
	for (int i = 0; i < 10000 && received < sent; i++) {
		received += channel_receive(p.b, &m, &got) > 0;
		channel_flush(p.a);
	}
	CHECK_INT(received, sent);
}

TEST(the_end_of_the_other_side_is_reported_after_its_messages)
{
	struct pair p = make_pair();
	struct channel_message m;
	struct view body;

	CHECK_INT(channel_send(p.a, &(struct channel_message){ .kind = CHANNEL_STATUS }, text("s")),
		  0);
	channel_free(p.a);
	CHECK_INT(channel_receive(p.b, &m, &body), 1);
	CHECK_INT(channel_receive(p.b, &m, &body), -EPIPE);
	channel_free(p.b);
}

TEST(nonsense_is_refused)
{
	int ends[2];
	struct channel_message bad = { .size = UINT32_MAX }, m;
	struct view body;

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);

	_cleanup_(channel_freep) struct channel *c = channel_new(ends[0], QUEUE);

	CHECK_INT(write(ends[1], &bad, sizeof(bad)), sizeof(bad));
	CHECK_INT(channel_receive(c, &m, &body), -EBADMSG);
	close(ends[1]);
}

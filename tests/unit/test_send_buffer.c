/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that stayed in the send buffer, and connections that waited to be accepted. */
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "story.h"
#include "test.h"

static void send_held(struct story *s, nsec_t time, uint64_t socket, uint32_t position)
{
	story_add(s, REC(MESSAGE, message, time, 1, .object = socket, .bytes = 5,
			 .position = position, .direction = MESSAGE_SEND,
			 .object_kind = OBJECT_INET, .flags = MESSAGE_HELD));
}

static void transmit(struct story *s, nsec_t time, uint64_t socket, uint32_t position, nsec_t left)
{
	story_add(s, REC(TRANSMIT, transmit, time, 0, .object = socket, .position = position,
			 .object_kind = OBJECT_INET, .left = left, .reason = HELD_NAGLE));
}

/* The message of thread 1 at this time. */
static struct message message_at(const struct story *s, nsec_t time)
{
	_cleanup_(model_freep) struct model *model = story_model(s);
	thread_id id = model_find_thread(model, 1, 0);
	const struct timeline *messages = model_thread(model, id)->timelines[TIMELINE_MESSAGES];
	timeline_pos pos;

	return timeline_find(messages, time, &pos) ? *(struct message *)timeline_at(messages, pos)
						   : (struct message){ 0 };
}

TEST(a_transmit_sets_the_times_of_all_held_sends)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_connect(&s, 100);
	story_send(&s, 1, 10, 100, 5, 5);
	send_held(&s, 20, 100, 10);
	send_held(&s, 30, 100, 15);
	send_held(&s, 35, 200, 15); /* another socket */
	transmit(&s, 80, 100, 15, 70);
	send_held(&s, 90, 100, 20);

	CHECK_INT(message_at(&s, 10).wire_time, 0);
	CHECK_INT(message_at(&s, 20).wire_time, 70);
	CHECK_INT(message_at(&s, 20).held, HELD_NAGLE);
	CHECK_INT(message_at(&s, 30).wire_time, 70);
	CHECK_INT(message_at(&s, 35).wire_time, 0);
	CHECK_INT(message_at(&s, 90).wire_time, 0);
}

TEST(positions_of_held_sends_can_wrap)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	send_held(&s, 20, 100, UINT32_MAX - 1);
	send_held(&s, 30, 100, 4);
	transmit(&s, 80, 100, 4, 70);
	CHECK_INT(message_at(&s, 20).wire_time, 70);
	CHECK_INT(message_at(&s, 30).wire_time, 70);
}

TEST(bytes_leave_after_their_send_and_before_the_record)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	send_held(&s, 20, 100, 5);
	transmit(&s, 30, 100, 5, 10);
	send_held(&s, 40, 100, 10);
	transmit(&s, 50, 100, 10, 1000);
	send_held(&s, 60, 100, 15);
	transmit(&s, 70, 100, 10, 65); /* of earlier bytes */
	CHECK_INT(message_at(&s, 20).wire_time, 20);
	CHECK_INT(message_at(&s, 40).wire_time, 50);
	CHECK_INT(message_at(&s, 60).wire_time, 0);
}

static struct socket_address connection(uint16_t peer_port)
{
	return (struct socket_address){ .family = AF_INET,
					.protocol = IPPROTO_TCP,
					.local_port = 80,
					.peer_port = peer_port,
					.local = { 10, 0, 0, 1 },
					.peer = { 10, 0, 0, 2 } };
}

static void establish(struct story *s, nsec_t time, uint16_t port)
{
	story_add(s, REC(SOCKET_STATE, socket_state, time, 0, .address = connection(port),
			 .from = TCP_SYN_RECV, .to = TCP_ESTABLISHED));
}

static void use(struct story *s, nsec_t time, uint64_t object, uint16_t port)
{
	story_add(s, REC(SOCKET, socket, time, 0, .object = object, .address = connection(port)));
}

TEST(a_socket_has_the_time_of_its_handshake_and_of_its_first_use)
{
	_cleanup_(story_done) struct story s = { 0 };

	establish(&s, 10, 1001);
	establish(&s, 20, 1002);
	use(&s, 30, 7, 1001);
	establish(&s, 40, 1001); /* the next connection with these addresses */
	use(&s, 50, 7, 1001);    /* described again */
	use(&s, 60, 8, 1001);
	use(&s, 70, 9, 1003);

	_cleanup_(model_freep) struct model *model = story_model(&s);

	CHECK_INT(model_socket(model, 0, 7)->established, 10);
	CHECK_INT(model_socket(model, 0, 7)->first_use, 30);
	CHECK_INT(model_socket(model, 0, 8)->established, 40);
	CHECK_INT(model_socket(model, 0, 8)->first_use, 60);
	CHECK_INT(model_socket(model, 0, 9)->established, 0);
}

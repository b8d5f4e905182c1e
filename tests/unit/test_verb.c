/* SPDX-License-Identifier: Apache-2.0 */
#include "record/verb.h"

#include <errno.h>
#include <sys/socket.h>

#include "test.h"

static int check(uint32_t verb, uint32_t pid, uint64_t value)
{
	struct err err;

	return verb_check(&(struct verb_message){ verb, pid, value }, &err);
}

TEST(verbs_with_values_in_range_are_accepted)
{
	CHECK_INT(check(VERB_STOP, 0, 0), 0);
	CHECK_INT(check(VERB_STACKS, 0, VERB_STACKS_MAX), 0);
	CHECK_INT(check(VERB_SYSCALLS, 1, 1), 0);
	CHECK_INT(check(VERB_SYSCALLS, 1, 0), 0);
	CHECK_INT(check(VERB_EPOCH, 0, 0), 0);
	CHECK_INT(check(VERB_SYSCALLS_ALL, 0, 1), 0);
	CHECK_INT(check(VERB_SYSCALLS_ALL, 0, 0), 0);
	CHECK_INT(check(VERB_OTHER_TASKS, 0, 1), 0);
}

TEST(unknown_verbs_and_values_out_of_range_are_refused)
{
	CHECK_INT(check(0, 0, 0), -EINVAL);
	CHECK_INT(check(VERB_COUNT, 0, 0), -EINVAL);
	CHECK_INT(check(UINT32_MAX, 0, 0), -EINVAL);
	CHECK_INT(check(VERB_STOP, 1, 0), -EINVAL);
	CHECK_INT(check(VERB_OTHER_TASKS, 1, 1), -EINVAL);
	CHECK_INT(check(VERB_OTHER_TASKS, 0, 2), -ERANGE);
	CHECK_INT(check(VERB_STOP, 0, 1), -ERANGE);
	CHECK_INT(check(VERB_STACKS, 0, VERB_STACKS_MAX + 1), -ERANGE);
	CHECK_INT(check(VERB_SYSCALLS, 0, 1), -EINVAL);
	CHECK_INT(check(VERB_SYSCALLS, 1, 2), -ERANGE);
	CHECK_INT(check(VERB_SYSCALLS_ALL, 1, 1), -EINVAL);
	CHECK_INT(check(VERB_SYSCALLS_ALL, 0, 2), -ERANGE);
}

TEST(messages_arrive_whole_and_in_order)
{
	struct verb_message m = { VERB_STACKS, 0, 53 }, got = { 0 };
	int ends[2];

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	CHECK_INT(verb_receive(ends[1], &got), 0);
	CHECK_INT(send(ends[0], &m, 7, 0), 7);
	CHECK_INT(verb_receive(ends[1], &got), 0);
	CHECK_INT(send(ends[0], (char *)&m + 7, sizeof(m) - 7, 0), sizeof(m) - 7);
	CHECK_INT(verb_send(ends[0], &(struct verb_message){ VERB_STOP, 0, 0 }), 0);
	CHECK_INT(verb_receive(ends[1], &got), 1);
	CHECK_INT(got.value, 53);
	CHECK_INT(verb_receive(ends[1], &got), 1);
	CHECK_INT(got.verb, VERB_STOP);
	close(ends[0]);
	CHECK_INT(verb_receive(ends[1], &got), -EPIPE);
	close(ends[1]);
}

TEST(a_verb_to_an_ended_recorder_fails)
{
	int ends[2];

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	close(ends[1]);
	CHECK_INT(verb_send(ends[0], &(struct verb_message){ VERB_STOP, 0, 0 }), -EPIPE);
	close(ends[0]);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "record/verb.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/socket.h>

/* Which fields a verb uses; the others must be 0. */
static const struct {
	bool known, has_pid;
	uint64_t max; /* of the value */
} verbs[VERB_COUNT] = {
	[VERB_STOP] = { .known = true },
	[VERB_STACKS] = { .known = true, .max = VERB_STACKS_MAX },
	[VERB_SYSCALLS] = { .known = true, .has_pid = true, .max = 1 },
	[VERB_EPOCH] = { .known = true },
	[VERB_SYSCALLS_ALL] = { .known = true, .max = 1 },
	[VERB_OTHER_TASKS] = { .known = true, .max = 1 },
};

int verb_check(const struct verb_message *m, struct err *err)
{
	if (m->verb >= VERB_COUNT || !verbs[m->verb].known)
		return err_set(err, -EINVAL, "unknown verb %" PRIu32, m->verb);
	if (verbs[m->verb].has_pid != (m->pid != 0))
		return err_set(err, -EINVAL, "verb %" PRIu32 " with process %" PRIu32, m->verb,
			       m->pid);
	if (m->value > verbs[m->verb].max)
		return err_set(err, -ERANGE,
			       "value %" PRIu64 " of verb %" PRIu32 " exceeds %" PRIu64, m->value,
			       m->verb, verbs[m->verb].max);
	return 0;
}

int verb_send(int stream, const struct verb_message *message)
{
	ssize_t n = send(stream, message, sizeof(*message), MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	return n == sizeof(*message) ? 0 : -EPIPE;
}

/* Messages have one size and the buffer of a socket is larger: they arrive whole, or the sender
 * broke off. */
int verb_receive(int stream, struct verb_message *ret)
{
	struct verb_message m;
	ssize_t n = recv(stream, &m, sizeof(m), MSG_DONTWAIT | MSG_PEEK);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
	if (n == 0)
		return -EPIPE;
	if (n < (ssize_t)sizeof(m))
		return 0; /* the rest may follow */
	if (recv(stream, &m, sizeof(m), MSG_DONTWAIT) != (ssize_t)sizeof(m))
		return -EPIPE;
	*ret = m;
	return 1;
}

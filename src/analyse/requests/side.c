/* SPDX-License-Identifier: Apache-2.0 */
/*
 * side - which side of a connection is the client, and which the server.
 *
 * A recorded connect shows the client.  On a connection that existed before, the server's side has
 * a port to which other connects were recorded; otherwise, the client's side has a port of the
 * range that Linux assigns to clients; otherwise, the client sends first.
 */
#include <netinet/in.h>
#include <xxhash.h>

#include "analyse/requests/internal.h"
#include "base/hash.h"

/* The start of Linux's default range of client ports. */
enum { CLIENT_PORT_FIRST = 32768 };

uint32_t side_of(struct finder *f, uint16_t host, uint64_t object)
{
	uint64_t *index = map_insert(&f->side_index, hash_pair(object, host));

	if (!*index) {
		*index = f->sides.count;
		*vec_push(&f->sides) = (struct side){ .key = hash_pair(object, host) };
	}
	return *index;
}

static bool is_client_port(uint16_t port)
{
	return port >= CLIENT_PORT_FIRST;
}

static enum role role_by_ports(const struct model *model, uint16_t host, const struct socket *s)
{
	uint16_t local = s->address.local_port, peer = s->address.peer_port;

	if (model_is_listening(model, host, s->netns, local))
		return ROLE_SERVER;
	if (model_is_listening(model, host, s->netns, peer))
		return ROLE_CLIENT;
	if (!local || !peer || is_client_port(local) == is_client_port(peer))
		return ROLE_UNKNOWN;
	return is_client_port(local) ? ROLE_CLIENT : ROLE_SERVER;
}

void side_find_role(struct finder *f, uint32_t index, const struct thread *thread,
		    const struct message *m)
{
	struct side *side = &f->sides.items[index];
	const struct socket *socket;

	if (side->role)
		return;
	socket = model_socket(f->model, thread->host, m->object);
	if (socket && m->object_kind == OBJECT_INET)
		side->role = role_by_ports(f->model, thread->host, socket);
	if (!side->role)
		side->role = m->direction == MESSAGE_SEND ? ROLE_CLIENT : ROLE_SERVER;
}

uint64_t side_target(const struct finder *f, uint32_t thread, uint64_t object)
{
	const struct socket *s = model_socket(f->model, thread_of(f, thread)->host, object);

	if (!s || s->address.family == AF_UNSPEC)
		return object;
	if (s->address.family ==
	    AF_UNIX) /* its name is unknown, but not the process that listened */
		return s->peer_pid ?: object;
	return XXH3_64bits_withSeed(s->address.peer, sizeof(s->address.peer), s->address.peer_port);
}

bool target_was_called(const struct worker *w, uint64_t target)
{
	for (size_t i = 0; i < w->target_count; i++)
		if (w->targets[i] == target)
			return true;
	return false;
}

void target_add(struct worker *w, uint64_t target)
{
	if (w->target_count < TARGETS_MAX && !target_was_called(w, target))
		w->targets[w->target_count++] = target;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cell - values of rows.  Unknown names and numbers of missing things are NULL, so that
 * sums ignore them and joins do not match them.
 */
#include <stdio.h>
#include <string.h>

#include "query/internal.h"

void cell_int(struct cell *cell, int64_t n)
{
	cell->type = QUERY_INT;
	cell->i = n;
}

void cell_time(struct cell *cell, nsec_t t)
{
	cell_int(cell, t <= INT64_MAX ? (int64_t)t : INT64_MAX);
}

void cell_duration(struct cell *cell, nsec_t from, nsec_t to)
{
	cell_time(cell, to > from ? to - from : 0);
}

void cell_real(struct cell *cell, double n)
{
	cell->type = QUERY_REAL;
	cell->real = n;
}

void cell_text(struct cell *cell, const char *s)
{
	if (!s)
		return;
	cell->type = QUERY_TEXT;
	cell->s = s;
}

void cell_string(struct cell *cell, const struct model *model, str_id id)
{
	if (id.i)
		cell_text(cell, model_string(model, id));
}

void cell_hex(struct cell *cell, const uint8_t *bytes, size_t size)
{
	bool any = false;

	for (size_t i = 0; i < size; i++) {
		cell->buffer[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		cell->buffer[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
		any |= bytes[i];
	}
	cell->buffer[2 * size] = '\0';
	if (any)
		cell_text(cell, cell->buffer);
}

void cell_error(struct cell *cell, int64_t negative_errno)
{
	const char *name = NULL;

	if (negative_errno >= 0 || negative_errno < -4095)
		return;
	name = strerrorname_np(-negative_errno);
	if (!name)
		snprintf(cell->buffer, sizeof(cell->buffer), "errno %d", (int)-negative_errno);
	cell_text(cell, name ? name : cell->buffer);
}

/* Queries mostly read both addresses of a socket, in many rows in succession: cache the last. */
static const struct socket_name *socket_name_of(struct query *q, uint16_t host, uint64_t object)
{
	const struct socket *socket;

	if (q->last_socket.valid && q->last_socket.host == host && q->last_socket.object == object)
		return &q->last_socket.name;
	socket = model_socket(q->model, host, object);
	if (!socket)
		return NULL;
	socket_name_init(&q->last_socket.name, &socket->address);
	q->last_socket.host = host;
	q->last_socket.object = object;
	q->last_socket.valid = true;
	return &q->last_socket.name;
}

void cell_address(struct cell *cell, struct query *q, uint16_t host, uint64_t object,
		  enum address_side side)
{
	const struct socket_name *name = socket_name_of(q, host, object);
	const char *address;

	if (!name)
		return;
	address = side == ADDRESS_LOCAL ? name->local : name->peer;
	if (*address)
		cell_text(cell, strcpy(cell->buffer, address));
}

void cell_device(struct cell *cell, const struct model *model, uint16_t host, uint32_t device)
{
	const char *name = device ? model_device(model, host, device) : NULL;

	if (device && !name)
		snprintf(cell->buffer, sizeof(cell->buffer), "%u:%u", device >> 20,
			 device & 0xfffff);
	if (device)
		cell_text(cell, name ? name : cell->buffer);
}

void cell_thread(struct cell *cell, const struct model *model, thread_id id, int column)
{
	const struct thread *thread = model_thread(model, id);

	if (!id.i)
		return;
	switch (column) {
	case THREAD_ID:
		cell_int(cell, id.i);
		break;
	case THREAD_PID:
		cell_int(cell, thread->pid);
		break;
	case THREAD_TID:
		cell_int(cell, thread->tid);
		break;
	case THREAD_COMM:
		cell_string(cell, model, thread->comm);
		break;
	case THREAD_HOST:
		cell_int(cell, thread->host);
		break;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "call.h"

#define CALL_ROOM 256

void target_init(struct target *t, const char *text, bool keep_alive)
{
	static const struct {
		const char *prefix;
		const struct wire *wire;
	} wires[] = { { "redis:", &wire_redis }, { "pg:", &wire_postgres }, { "", &wire_http } };
	size_t i = 0;

	while (strncmp(text, wires[i].prefix, strlen(wires[i].prefix)) != 0)
		i++;
	*t = (struct target){
		.wire = wires[i].wire,
		.address = text + strlen(wires[i].prefix),
		.keep_alive = keep_alive,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
}

struct link *target_take_idle(struct target *t)
{
	struct link *l = NULL;

	pthread_mutex_lock(&t->lock);
	if (t->idle.count)
		l = t->idle.items[--t->idle.count];
	pthread_mutex_unlock(&t->lock);
	return l;
}

void target_give_back(struct target *t, struct link *l)
{
	if (!t->keep_alive) {
		link_free(l);
		return;
	}
	pthread_mutex_lock(&t->lock);
	*vec_push(&t->idle) = l;
	pthread_mutex_unlock(&t->lock);
}

size_t call_format(const struct target *t, const struct entry *e, size_t i, char *buf, size_t room)
{
	char hop[sizeof(e->hop)];
	struct call_head q = { .id = e->id, .hop = hop, .close = !t->keep_alive };

	errno = ENAMETOOLONG;
	if (snprintf(hop, sizeof(hop), "%s.%zu", e->hop, i) >= (int)sizeof(hop))
		die("the path of request %s is too long", e->id);
	return t->wire->format_call(&q, buf, room);
}

void call_log_begin(struct call *c, struct entry *e, size_t i, size_t bytes)
{
	c->log = &e->calls[i];
	c->log->wire = c->target->wire->name;
	c->log->ends = c->link->ends;
	c->log->tid = (uint32_t)gettid();
	c->log->server = c->link->server;
	c->log->gave = (uint32_t)bytes;
	c->log->sending = now();
}

void call_log_end(struct call *c, size_t bytes)
{
	c->log->got = (uint32_t)bytes;
	c->log->replied = now();
}

/* Read a whole reply into the link's buffer; returns its bytes. */
static size_t wait_for_reply(const struct target *t, struct link *l, const struct io_style *how)
{
	size_t size;

	while (!(size = t->wire->reply_size(l->buf, l->used))) {
		errno = ECONNRESET;
		if (link_read(l, how) <= 0)
			die("no reply from %s", t->address);
	}
	return size;
}

static struct link *open_link(const struct target *t, const struct io_style *how)
{
	struct link *l = link_connect(t->address, 0);
	char handshake[CALL_ROOM];

	if (!t->wire->format_handshake)
		return l;
	link_send(l, how, handshake, t->wire->format_handshake(handshake, sizeof(handshake)));

	size_t size = wait_for_reply(t, l, how);
	l->server = t->wire->server(l->buf, size);
	link_take(l, size);
	return l;
}

struct call call_begin(struct target *t, struct entry *e, size_t i, const struct io_style *how)
{
	struct call c = { .target = t, .link = target_take_idle(t) };
	char text[CALL_ROOM];
	size_t size = call_format(t, e, i, text, sizeof(text));

	if (!c.link)
		c.link = open_link(t, how);
	call_log_begin(&c, e, i, size);
	link_send(c.link, how, text, size);
	c.log->sent = now();
	return c;
}

void call_end(struct call *c, const struct io_style *how)
{
	size_t size = wait_for_reply(c->target, c->link, how);

	call_log_end(c, size);
	link_take(c->link, size);
	target_give_back(c->target, c->link);
}

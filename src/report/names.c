/* SPDX-License-Identifier: Apache-2.0 */
#include "report/names.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/map.h"

struct names {
	const struct capture *cap; /* borrowed */
	struct arena *arena;
	struct map threads; /* tid: pid << 32 | comm, a string's number */
	struct map sockets; /* object: struct socket_name * */
	struct map files;   /* object: a string's number */
	struct map devices; /* device: a string's number */
	struct map hits;    /* type: struct hit_name * */
};

struct names *names_new(const struct capture *cap)
{
	struct names *names = must_alloc(sizeof(*names));

	names->cap = cap;
	names->arena = arena_new();
	return names;
}

void names_free(struct names *names)
{
	uint64_t type, ptr;
	size_t pos = 0;

	if (!names)
		return;
	while (map_next(&names->hits, &pos, &type, &ptr))
		hit_format_free(((struct hit_name *)(uintptr_t)ptr)->format);
	map_done(&names->threads);
	map_done(&names->sockets);
	map_done(&names->files);
	map_done(&names->devices);
	map_done(&names->hits);
	arena_free(names->arena);
	free(names);
}

static void write_address(char *to, size_t room, unsigned family, const uint8_t *address,
			  uint16_t port)
{
	static const uint8_t zero[16];
	size_t size = family == AF_INET ? 4 : 16;
	char host[INET6_ADDRSTRLEN] = "";

	to[0] = '\0';
	if (family != AF_INET && family != AF_INET6)
		return;
	if (port == 0 && memcmp(address, zero, size) == 0)
		return; /* not bound, or not connected */
	inet_ntop(family, address, host, sizeof(host));
	snprintf(to, room, family == AF_INET ? "%s:%u" : "[%s]:%u", host, port);
}

void socket_name_init(struct socket_name *name, const struct socket_address *a)
{
	write_address(name->local, sizeof(name->local), a->family, a->local, a->local_port);
	write_address(name->peer, sizeof(name->peer), a->family, a->peer, a->peer_port);
}

static void feed_socket(struct names *names, const struct record_socket *r)
{
	struct socket_name *name = map_find_ptr(&names->sockets, r->object);

	if (!name) {
		name = arena_new_of(names->arena, struct socket_name);
		map_insert_ptr(&names->sockets, r->object, name);
	}
	socket_name_init(name, &r->address);
}

static void feed_hit_type(struct names *names, const struct record_hit_type *r)
{
	struct hit_name *hit = map_find_ptr(&names->hits, r->type);

	if (!hit) {
		hit = arena_new_of(names->arena, struct hit_name);
		map_insert_ptr(&names->hits, r->type, hit);
	}
	if (hit->format && hit->text == r->format)
		return;
	hit_format_free(hit->format);
	hit->text = r->format;
	hit->event = capture_get_string(names->cap, r->name);
	hit->format = hit_format_new(capture_get_string(names->cap, r->format));
}

void names_feed(struct names *names, const struct record *record)
{
	switch (record->kind) {
	case RECORD_TASK: {
		const struct record_task *r = (const void *)record;
		*map_insert(&names->threads, record->tid) = (uint64_t)r->pid << 32 | r->comm;
		break;
	}
	case RECORD_SOCKET:
		feed_socket(names, (const void *)record);
		break;
	case RECORD_FILE: {
		const struct record_file *r = (const void *)record;
		*map_insert(&names->files, r->object) = r->name;
		break;
	}
	case RECORD_DEVICE: {
		const struct record_device *r = (const void *)record;
		*map_insert(&names->devices, r->device) = r->name;
		break;
	}
	case RECORD_HIT_TYPE:
		feed_hit_type(names, (const void *)record);
		break;
	}
}

struct thread_name names_thread(const struct names *names, uint32_t tid)
{
	const uint64_t *found = map_find(&names->threads, tid);

	if (found)
		return (struct thread_name){ *found >> 32, capture_get_string(names->cap, *found) };
	return (struct thread_name){ 0, tid == 0 ? "swapper" : "" };
}

uint32_t names_pid(const struct names *names, const struct record *record)
{
	switch (record->kind) {
	case RECORD_TASK:
		return ((const struct record_task *)record)->pid;
	case RECORD_EXIT:
		return ((const struct record_exit *)record)->pid;
	case RECORD_PROCESS:
		return ((const struct record_process *)record)->pid;
	default:
		return record->tid ? names_thread(names, record->tid).pid : 0;
	}
}

const struct socket_name *names_socket(const struct names *names, uint64_t object)
{
	return map_find_ptr(&names->sockets, object);
}

static const char *find_string(const struct names *names, const struct map *map, uint64_t key)
{
	const uint64_t *found = map_find(map, key);

	return found && *found ? capture_get_string(names->cap, *found) : NULL;
}

const char *names_file(const struct names *names, uint64_t object)
{
	return find_string(names, &names->files, object);
}

const char *names_device(const struct names *names, uint32_t device)
{
	return find_string(names, &names->devices, device);
}

const struct hit_name *names_hit(const struct names *names, uint32_t type)
{
	return map_find_ptr(&names->hits, type);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "report/names.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/strtab.h"
#include "event/stream.h"

struct names {
	struct arena *arena;
	struct strtab *strings;
	struct map threads;      /* tid: pid << 32 | comm, a str_id */
	struct map sockets;      /* object: struct socket_name * */
	struct map files;        /* object: str_id */
	struct map devices;      /* device: str_id */
	struct map probe_events; /* input << 32 | type: struct probe_name * */
};

struct names *names_new(void)
{
	struct names *names = must_alloc(sizeof(*names));

	names->arena = arena_new();
	names->strings = strtab_new();
	return names;
}

void names_free(struct names *names)
{
	uint64_t type, ptr;
	size_t pos = 0;

	if (!names)
		return;
	while (map_next(&names->probe_events, &pos, &type, &ptr))
		probe_format_free(((struct probe_name *)(uintptr_t)ptr)->format);
	map_done(&names->threads);
	map_done(&names->sockets);
	map_done(&names->files);
	map_done(&names->devices);
	map_done(&names->probe_events);
	strtab_free(names->strings);
	arena_free(names->arena);
	free(names);
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

static uint64_t probe_key(const struct source *source, uint32_t type)
{
	return (uint64_t)source->input << 32 | type;
}

static void feed_probe_type(struct names *names, const struct source *source,
			    const struct record_probe_type *r)
{
	struct probe_name *probe_event =
		map_find_ptr(&names->probe_events, probe_key(source, r->type));

	if (!probe_event) {
		probe_event = arena_new_of(names->arena, struct probe_name);
		map_insert_ptr(&names->probe_events, probe_key(source, r->type), probe_event);
	}
	if (probe_event->format && probe_event->text == r->format)
		return;
	probe_format_free(probe_event->format);
	probe_event->text = r->format;
	probe_event->event = strtab_get(names->strings,
					strtab_add(names->strings, source_string(source, r->name)));
	probe_event->format = probe_format_new(source_string(source, r->format));
}

/* Kept here, as an input may have its strings for a while only. */
static uint32_t keep(struct names *names, const struct source *source, uint32_t id)
{
	return strtab_add(names->strings, source_string(source, id)).i;
}

void names_feed(struct names *names, const struct source *source, const struct record *record)
{
	switch (record->kind) {
	case RECORD_TASK: {
		const struct record_task *r = (const void *)record;
		*map_insert(&names->threads, record->tid) =
			(uint64_t)r->pid << 32 | keep(names, source, r->comm);
		break;
	}
	case RECORD_SOCKET:
		feed_socket(names, (const void *)record);
		break;
	case RECORD_FILE: {
		const struct record_file *r = (const void *)record;
		*map_insert(&names->files, r->object) = keep(names, source, r->name);
		break;
	}
	case RECORD_DEVICE: {
		const struct record_device *r = (const void *)record;
		*map_insert(&names->devices, r->device) = keep(names, source, r->name);
		break;
	}
	case RECORD_PROBE_TYPE:
		feed_probe_type(names, source, (const void *)record);
		break;
	}
}

struct thread_name names_thread(const struct names *names, uint32_t tid)
{
	const uint64_t *found = map_find(&names->threads, tid);

	if (found)
		return (struct thread_name){ *found >> 32,
					     strtab_get(names->strings, (str_id){ *found }) };
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
	case RECORD_SPAN:
		if (((const struct record_span *)record)->pid)
			return ((const struct record_span *)record)->pid;
		__attribute__((fallthrough));
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

	return found && *found ? strtab_get(names->strings, (str_id){ *found }) : NULL;
}

const char *names_file(const struct names *names, uint64_t object)
{
	return find_string(names, &names->files, object);
}

const char *names_device(const struct names *names, uint32_t device)
{
	return find_string(names, &names->devices, device);
}

const struct probe_name *names_probe(const struct names *names, const struct source *source,
				     uint32_t type)
{
	return map_find_ptr(&names->probe_events, probe_key(source, type));
}

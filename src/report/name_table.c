/* SPDX-License-Identifier: Apache-2.0 */
#include "report/name_table.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/strtab.h"
#include "event/stream.h"

struct name_table {
	struct arena *arena;
	struct strtab *strings;
	struct map threads; /* tid: pid << 32 | comm, a str_id */
	struct map sockets; /* object: struct socket_name * */
	struct map files;   /* object: str_id */
	struct map devices; /* device: str_id */
	struct map probes;  /* input << 32 | type: struct probe_name * */
};

struct name_table *name_table_new(void)
{
	struct name_table *table = must_alloc(sizeof(*table));

	table->arena = arena_new();
	table->strings = strtab_new();
	return table;
}

void name_table_free(struct name_table *table)
{
	uint64_t type, ptr;
	size_t pos = 0;

	if (!table)
		return;
	while (map_next(&table->probes, &pos, &type, &ptr))
		probe_format_free(((struct probe_name *)(uintptr_t)ptr)->format);
	map_done(&table->threads);
	map_done(&table->sockets);
	map_done(&table->files);
	map_done(&table->devices);
	map_done(&table->probes);
	strtab_free(table->strings);
	arena_free(table->arena);
	free(table);
}

static void add_socket(struct name_table *table, const struct record_socket *r)
{
	struct socket_name *name = map_find_ptr(&table->sockets, r->object);

	if (!name) {
		name = arena_new_of(table->arena, struct socket_name);
		map_insert_ptr(&table->sockets, r->object, name);
	}
	socket_name_init(name, &r->address);
}

static uint64_t probe_key(const struct source *source, uint32_t type)
{
	return (uint64_t)source->input << 32 | type;
}

static void add_probe_type(struct name_table *table, const struct source *source,
			   const struct record_probe_type *r)
{
	struct probe_name *probe = map_find_ptr(&table->probes, probe_key(source, r->type));

	if (!probe) {
		probe = arena_new_of(table->arena, struct probe_name);
		map_insert_ptr(&table->probes, probe_key(source, r->type), probe);
	}
	if (probe->format && probe->text == r->format)
		return;
	probe_format_free(probe->format);
	probe->text = r->format;
	probe->event = strtab_get(table->strings,
				  strtab_add(table->strings, source_string(source, r->name)));
	probe->format = probe_format_new(source_string(source, r->format));
}

/* Copy a string: the input's strings can be short-lived. */
static uint32_t copy_string(struct name_table *table, const struct source *source, uint32_t id)
{
	return strtab_add(table->strings, source_string(source, id)).i;
}

void name_table_add(struct name_table *table, const struct source *source,
		    const struct record *record)
{
	switch (record->kind) {
	case RECORD_TASK: {
		const struct record_task *r = (const void *)record;
		*map_insert(&table->threads, record->tid) =
			(uint64_t)r->pid << 32 | copy_string(table, source, r->comm);
		break;
	}
	case RECORD_SOCKET:
		add_socket(table, (const void *)record);
		break;
	case RECORD_FILE: {
		const struct record_file *r = (const void *)record;
		*map_insert(&table->files, r->object) = copy_string(table, source, r->name);
		break;
	}
	case RECORD_DEVICE: {
		const struct record_device *r = (const void *)record;
		*map_insert(&table->devices, r->device) = copy_string(table, source, r->name);
		break;
	}
	case RECORD_PROBE_TYPE:
		add_probe_type(table, source, (const void *)record);
		break;
	}
}

struct thread_name name_table_thread(const struct name_table *table, uint32_t tid)
{
	const uint64_t *found = map_find(&table->threads, tid);

	if (found)
		return (struct thread_name){ *found >> 32,
					     strtab_get(table->strings, (str_id){ *found }) };
	return (struct thread_name){ 0, tid == 0 ? "swapper" : "" };
}

uint32_t name_table_pid(const struct name_table *table, const struct record *record)
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
		return record->tid ? name_table_thread(table, record->tid).pid : 0;
	}
}

const struct socket_name *name_table_socket(const struct name_table *table, uint64_t object)
{
	return map_find_ptr(&table->sockets, object);
}

static const char *find_string(const struct name_table *table, const struct map *map, uint64_t key)
{
	const uint64_t *found = map_find(map, key);

	return found && *found ? strtab_get(table->strings, (str_id){ *found }) : NULL;
}

const char *name_table_file(const struct name_table *table, uint64_t object)
{
	return find_string(table, &table->files, object);
}

const char *name_table_device(const struct name_table *table, uint32_t device)
{
	return find_string(table, &table->devices, device);
}

const struct probe_name *name_table_probe(const struct name_table *table,
					  const struct source *source, uint32_t type)
{
	return map_find_ptr(&table->probes, probe_key(source, type));
}

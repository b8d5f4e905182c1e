/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_maps - cache of the file mappings of processes.
 *
 * Reading /proc/PID/maps takes a lock of the process and some hundred
 * microseconds.  So it is read for the first address of a process, and again only
 * for an address outside of the known mappings.  Such an address is either new
 * code or garbage, as unwinding by frame pointers yields in programs without
 * them.  So the next read happens after 100 ms at the earliest, and each read
 * that does not find the address doubles that interval.
 *
 * Only executable mappings are stored, with 32 bytes each.  If all processes
 * together exceed a limit, the cache is cleared, which bounds its memory.
 */
#include "record/symbol/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/search.h"

enum {
	PROCESS_MAPPINGS = 1 << 14,
	ALL_MAPPINGS = 1 << 17,
	MODULES = 1 << 15,
	KEY_ROOM = 4096 + 128,
};

#define FIRST_PAUSE (100 * NSEC_PER_MSEC)
#define LAST_PAUSE (10 * NSEC_PER_SEC)

struct mapped_process {
	VEC(struct mapping) maps; /* by address */
	nsec_t next_read;         /* earliest time of the next read */
	nsec_t pause;             /* interval between reads */
};

static void mapped_process_free(struct mapped_process *p)
{
	if (p)
		vec_done(&p->maps);
	free(p);
}
DEFINE_FREEP(mapped_process)

void modules_init(struct modules *mods)
{
	*mods = (struct modules){ .keys = strtab_new(), .line = must_alloc(KEY_ROOM) };
	*vec_push(&mods->list) = (struct module){ .name = "", .fd = -1, .proc = -1 };
}

void modules_done(struct modules *mods)
{
	for (size_t i = 0; i < mods->list.count; i++) {
		closep(&mods->list.items[i].fd);
		closep(&mods->list.items[i].proc);
	}
	vec_done(&mods->list);
	strtab_free(mods->keys);
	free(mods->line);
}

/* The key contains everything that distinguishes modules, and ends with the name. */
uint32_t modules_add(struct modules *mods, const struct module *like)
{
	int prefix = snprintf(mods->line, KEY_ROOM, "%d %" PRIx64 ":%" PRIx64 " %" PRIu32 "%c",
			      like->kind, (uint64_t)like->mapped.device,
			      (uint64_t)like->mapped.inode, like->pid, like->deleted ? '-' : '+');

	snprintf(mods->line + prefix, KEY_ROOM - prefix, "%s", like->name);
	if (strtab_count(mods->keys) >= MODULES)
		return 0;

	str_id key = strtab_add(mods->keys, mods->line);

	if (key.i == mods->list.count) {
		struct module *mod = vec_push(&mods->list);

		*mod = *like;
		mod->name = strtab_get(mods->keys, key) + prefix;
		mod->fd = mod->proc = -1;
	}
	return key.i;
}

/* `name` is the last column of /proc/PID/maps: a path, a name in brackets, or nothing. */
static void name_module(char *name, uint64_t start, struct module *mod)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(name);

	mod->kind = MODULE_NAMED;
	mod->name = name;
	if (strcmp(name, "[vdso]") == 0) {
		/* the vDSO of a 32-bit process differs from ours */
		mod->kind = start > UINT32_MAX || sizeof(void *) == 4 ? MODULE_VDSO : MODULE_NAMED;
	} else if (*name == '/' && mod->mapped.inode != 0) {
		mod->kind = MODULE_FILE;
		if (len > strlen(deleted) && strcmp(name + len - strlen(deleted), deleted) == 0) {
			name[len - strlen(deleted)] = '\0';
			mod->deleted = true;
		}
	} else if (*name != '[' || strncmp(name, "[anon", 5) == 0 || strcmp(name, "[heap]") == 0 ||
		   strcmp(name, "[stack]") == 0) {
		mod->kind = MODULE_JIT;
		mod->name = "[jit]";
	}
}

bool maps_parse(char *line, struct mapping *ret, struct module *ret_module)
{
	struct mapping map = { 0 };
	unsigned int major, minor;
	uint64_t inode;
	char perms[5];
	int at = 0;

	const char *blank = strchr(line, ' ');
	if (!blank || strnlen(blank, 5) < 5 ||
	    blank[3] != 'x') /* fast path: most mappings are not executable */
		return false;
	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 "%n", &map.start,
		   &map.end, perms, &map.offset, &major, &minor, &inode, &at) != 7)
		return false;
	if (at == 0 || map.start >= map.end)
		return false;
	*ret = map;
	*ret_module = (struct module){ .mapped = { makedev(major, minor), inode } };
	name_module(line + at + strspn(line + at, " "), map.start, ret_module);
	return true;
}

static void add_line(struct mapped_process *p, struct modules *mods, uint32_t pid, char *line)
{
	struct mapping map, *last = p->maps.count ? &p->maps.items[p->maps.count - 1] : NULL;
	struct module mod;

	if (p->maps.count >= PROCESS_MAPPINGS || !maps_parse(line, &map, &mod))
		return;
	if (last && map.start < last->end) /* ignore lines that are not sorted */
		return;
	if (mod.kind == MODULE_JIT) {
		mod.mapped = (struct file_id){ 0 };
		mod.pid = pid;
	}
	map.module = modules_add(mods, &mod);
	*vec_push(&p->maps) = map;
}

/* NULL if the process has exited, or if we may not read it. */
static struct mapped_process *mapped_process_read(struct modules *mods, uint32_t pid)
{
	_cleanup_(mapped_process_freep) struct mapped_process *p = must_alloc(sizeof(*p));
	_cleanup_(freep) char *line = NULL;
	size_t room = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return NULL;
	while (getline(&line, &room, file) > 0)
		add_line(p, mods, pid, line);
	fclose(file);
	return p->maps.count ? TAKE(p) : NULL;
}

static void forget_all(struct maps *maps)
{
	uint64_t pid, process;

	for (size_t pos = 0; map_next(&maps->processes, &pos, &pid, &process);)
		mapped_process_free((struct mapped_process *)(uintptr_t)process);
	map_done(&maps->processes);
	maps->total = 0;
}

void maps_done(struct maps *maps)
{
	forget_all(maps);
}

void maps_forget(struct maps *maps, uint32_t pid)
{
	struct mapped_process *p = map_find_ptr(&maps->processes, pid);

	if (!p)
		return;
	maps->total -= p->maps.count;
	mapped_process_free(p);
	map_remove(&maps->processes, pid);
}

static const struct mapping *find(const struct mapped_process *p, uint64_t address)
{
	const struct mapping *maps = p->maps.items;
	size_t first = partition_point(p->maps.count, i, maps[i].end <= address);

	return first < p->maps.count && maps[first].start <= address ? &maps[first] : NULL;
}

/* Read the mappings again; if the process has exited, returns NULL and keeps the old ones. */
static struct mapped_process *replace(struct maps *maps, struct modules *mods, uint32_t pid)
{
	struct mapped_process *p = mapped_process_read(mods, pid);

	if (!p)
		return NULL;
	maps_forget(maps, pid);
	if (maps->total + p->maps.count > ALL_MAPPINGS)
		forget_all(maps);
	maps->total += p->maps.count;
	map_insert_ptr(&maps->processes, pid, p);
	return p;
}

const struct mapping *maps_find(struct maps *maps, struct modules *mods, uint32_t pid,
				uint64_t address)
{
	struct mapped_process *p = map_find_ptr(&maps->processes, pid);
	const struct mapping *map = p ? find(p, address) : NULL;
	nsec_t time = map ? 0 : clock_now(), pause = FIRST_PAUSE;

	if (map || (p && time < p->next_read))
		return map;
	if (p) {
		pause = p->pause < LAST_PAUSE ? 2 * p->pause : p->pause;
		p->next_read = time + pause;
		p->pause = pause;
	}
	p = replace(maps, mods, pid);
	if (!p)
		return NULL;
	map = find(p, address);
	p->pause = map ? FIRST_PAUSE : pause;
	p->next_read = clock_now() + p->pause;
	return map;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An object is a file that is mapped executable: an executable or a library.  Most do not
 * define the variable; that is cached by the file's identity and change time, so that,
 * for example, the C library is read once and not once per process.
 *
 * Several objects can define the variable.  References by name are bound to the first
 * definition, and the words that the loader filled in take that into account, so the
 * objects mostly agree.  If they do not, the executable takes precedence, then an object
 * with a static block, because such objects were loaded at the start.
 *
 * The process can call execve() in the meantime.  The location is valid only if the
 * image was the same before and after.
 */
#include "record/tls/locate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/hash.h"
#include "record/symbol/internal.h"
#include "record/tls/internal.h"

enum {
	FILES = 1 << 14,   /* cached */
	RANGES = 1 << 18,  /* mappings to read per process */
	OBJECTS = 1 << 10, /* files to read per process */
	IMAGE_FIELD = 27,  /* of /proc/PID/stat: endcode, followed by startstack */
};

struct tls_files {
	struct map known;            /* hash of a file's identity -> index in `list` + 1 */
	VEC(struct tls_object) list; /* the first one represents all files without relevance */
};

/* An object that a process has mapped. */
struct tls_loaded {
	size_t object; /* index in tls_files.list */
	uint64_t bias; /* address in the process minus address in the file */
	char name[256];
};

struct tls_search {
	struct tls_files *files; /* borrowed */
	uint32_t pid;
	VEC(struct tls_range) ranges;
	VEC(struct tls_loaded) loaded; /* objects that define the variable */
	struct map inspected;          /* files, by tls_range.file */
	uint64_t last;     /* file of the previous mapping: those of one file are adjacent */
	size_t unreadable; /* files */
	bool foreign;      /* contains code for another architecture */
	enum tls_loader loader;
};

struct tls_files *tls_files_new(void)
{
	struct tls_files *files = must_alloc(sizeof(*files));

	*vec_push(&files->list) = (struct tls_object){ 0 };
	return files;
}

void tls_files_free(struct tls_files *files)
{
	if (!files)
		return;
	map_done(&files->known);
	vec_done(&files->list);
	free(files);
}

static void tls_search_done(struct tls_search *s)
{
	vec_done(&s->ranges);
	vec_done(&s->loaded);
	map_done(&s->inspected);
}

static bool is_relevant(const struct tls_object *o)
{
	return o->defines || o->foreign || o->loader != TLS_LOADER_NONE;
}

/* The index of a file's object; a new file is read. */
static size_t file_object(struct tls_files *files, int fd, const struct stat *st)
{
	uint64_t id[] = { st->st_dev, st->st_ino, st->st_size, st->st_ctim.tv_sec,
			  st->st_ctim.tv_nsec };
	uint64_t *known = map_insert(&files->known, hash_bytes(id, sizeof(id)));
	struct tls_object object;

	if (*known)
		return *known - 1;
	tls_object_read(fd, &object);
	*known = 1;
	if (is_relevant(&object)) {
		*vec_push(&files->list) = object;
		*known = files->list.count;
	}
	return *known - 1;
}

static void forget_files(struct tls_files *files)
{
	if (files->known.count < FILES)
		return;
	map_done(&files->known);
	files->known = (struct map){ 0 };
	files->list.count = 1;
}

static void inspect_file(struct tls_search *s, const struct mapping *map, const struct module *mod,
			 uint64_t file)
{
	_cleanup_(closep) int fd = module_open_mapped(mod, s->pid, map);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0) {
		s->unreadable++;
		return;
	}

	map_insert(&s->inspected, file);

	size_t number = file_object(s->files, fd, &st);
	const struct tls_object *o = &s->files->list.items[number];

	s->foreign |= o->foreign;
	if (s->loader == TLS_LOADER_NONE)
		s->loader = o->loader;
	if (!o->defines)
		return;
	if (o->code_offset - map->offset >= map->end - map->start) {
		s->last =
			0; /* another part of the file: the next mapping may be the code segment */
		return;
	}

	struct tls_loaded *l = vec_push(&s->loaded);

	l->object = number;
	l->bias = map->start - map->offset + o->code_offset - o->code_address;
	snprintf(l->name, sizeof(l->name), "%s", mod->name);
}

static void add_mapping(struct tls_search *s, char *line)
{
	struct tls_range range = { 0 };
	struct mapping map;
	struct module mod;
	unsigned int major, minor;
	uint64_t id[2];

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*x %x:%x %" SCNu64, &range.start, &range.end,
		   &major, &minor, &id[1]) != 5 ||
	    (s->ranges.count && range.start < s->ranges.items[s->ranges.count - 1].end))
		return;
	id[0] = makedev(major, minor);
	if (id[1])
		range.file = hash_bytes(id, sizeof(id));
	*vec_push(&s->ranges) = range;
	if (!range.file || range.file == s->last || s->inspected.count + s->unreadable >= OBJECTS ||
	    !maps_parse(line, &map, &mod) || mod.kind != MODULE_FILE)
		return;
	s->last = range.file;
	inspect_file(s, &map, &mod, range.file);
}

static int no_such_process(uint32_t pid, struct err *err)
{
	if (errno == ENOENT || errno == ESRCH)
		return err_set(err, -ESRCH, "there is no process %" PRIu32, pid);
	return err_errno(err, "cannot read process %" PRIu32, pid);
}

static int read_mappings(struct tls_search *s, struct err *err)
{
	_cleanup_(freep) char *line = NULL;
	size_t room = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", s->pid);

	FILE *file = fopen(path, "re");

	if (!file)
		return no_such_process(s->pid, err);
	while (s->ranges.count < RANGES && getline(&line, &room, file) > 0)
		add_mapping(s, line);
	fclose(file);
	return 0;
}

/* See struct wire_tls_location.image. */
static int read_image(uint32_t pid, uint64_t *ret, struct err *err)
{
	char path[64], text[1024];
	uint64_t code_end, stack;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);

	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		return no_such_process(pid, err);
	text[n] = '\0';

	const char *at = strrchr(text, ')'); /* the name of the program can contain anything */

	for (int field = 2; at && field < IMAGE_FIELD; field++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, "%" SCNu64 " %" SCNu64, &code_end, &stack) != 2)
		return err_set(err, -ESRCH, "process %" PRIu32 " has ended", pid);
	if (stack == 0 && code_end != 0)
		return err_set(err, -EPERM,
			       "cannot read process %" PRIu32
			       ": permission denied; run as root, or with "
			       "CAP_SYS_PTRACE",
			       pid);
	*ret = stack + code_end;
	return 0;
}

static int explain_not_found(const struct tls_search *s, struct err *err)
{
	if (s->foreign && s->loader == TLS_LOADER_NONE)
		return err_set(err, -EOPNOTSUPP,
			       "process %" PRIu32
			       " is not an x86-64 program: thread contexts are supported "
			       "on x86-64 only",
			       s->pid);
	if (s->unreadable)
		return err_set(err, -ENOENT,
			       "no object of process %" PRIu32 " exports " TLS_SYMBOL
			       ", but %zu of its files cannot be read",
			       s->pid, s->unreadable);
	return err_set(err, -ENOENT, "no object of process %" PRIu32 " exports " TLS_SYMBOL,
		       s->pid);
}

/* Precedence of a location: the executable, a static block, anything else. */
static int rank(const struct tls_object *o, const struct tls_location *location)
{
	return o->executable ? 3 : location->wire.kind == TLS_LOCATION_STATIC ? 2 : 1;
}

/* Choose the location with the highest rank; without any, err explains the last failure. */
static int choose_location(const struct tls_search *s, const struct tls_process *process,
			   struct tls_location *ret, struct err *err)
{
	int best = 0, result = 0;

	for (size_t i = 0; i < s->loaded.count; i++) {
		const struct tls_loaded *l = &s->loaded.items[i];
		const struct tls_object *o = &s->files->list.items[l->object];
		struct tls_location location = { 0 };
		struct err why;
		int r = tls_slot_resolve(process, o, l->bias, &location, &why);

		if (r < 0) {
			result = err_set(err, r, "'%s' exports " TLS_SYMBOL ", but %s", l->name,
					 why.text);
		} else if (rank(o, &location) > best) {
			best = rank(o, &location);
			memcpy(location.object, l->name, sizeof(location.object));
			*ret = location;
		}
	}
	return best ? 0 : result;
}

static int find_in_objects(struct tls_search *s, struct tls_location *ret, struct err *err)
{
	char path[64];

	if (s->loaded.count == 0)
		return explain_not_found(s, err);
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/mem", s->pid);

	_cleanup_(closep) int mem = open(path, O_RDONLY | O_CLOEXEC);
	struct tls_process process = { .mem = mem,
				       .ranges = s->ranges.items,
				       .range_count = s->ranges.count,
				       .files = &s->inspected,
				       .loader = s->loader };

	if (mem < 0)
		return errno == ENOENT
			       ? no_such_process(s->pid, err)
			       : err_errno(err, "cannot read the memory of process %" PRIu32,
					   s->pid);
	return choose_location(s, &process, ret, err);
}

int tls_locate(struct tls_files *files, uint32_t pid, struct tls_location *ret, struct err *err)
{
	_cleanup_(tls_search_done) struct tls_search s = { .files = files, .pid = pid };
	struct tls_location location;
	uint64_t before = 0, after = 0;
	int r = read_image(pid, &before, err);

	forget_files(files);
	if (r == 0)
		r = read_mappings(&s, err);
	if (r == 0)
		r = find_in_objects(&s, &location, err);
	if (r == 0)
		r = read_image(pid, &after, err);
	if (r < 0)
		return r;
	if (before != after)
		return err_set(err, -EAGAIN, "process %" PRIu32 " is executing another program",
			       pid);
	location.wire.image = after;
	*ret = location;
	return 0;
}

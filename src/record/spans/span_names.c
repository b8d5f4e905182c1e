/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/span_names.h"

#include <errno.h>
#include <string.h>

#include "event/span_switch.h"
#include "record/spans/process_scan.h"
#include "record/spans/ring_reader.h"

struct span_names {
	struct span_arena *arena; /* shared with the process */
};

static int open_arena(uint32_t pid, struct span_names *names, struct err *err)
{
	uint64_t device = arena_file_device();
	struct process_scan scan = { 0 };
	int r = process_scan_run(pid, device, &scan);

	if (r == -ESRCH)
		return err_set(err, r, "there is no process %u", pid);
	if (r == 0 && !scan.arena_inode)
		return err_set(err, -ENOENT,
			       "process %u has no sonde.h spans; see 'sonde doctor --pid %u'", pid,
			       pid);

	_cleanup_(closep) int fd = r < 0 ? r : process_scan_open_arena(pid, &scan);

	r = fd < 0 ? fd : arena_file_map(fd, device, &names->arena);
	if (r == -EPERM || r == -EACCES)
		return err_set(err, r, "cannot read process %u: permission denied; run as root",
			       pid);
	if (r < 0)
		return err_set(err, r, "cannot read the spans of process %u: %s", pid,
			       strerror(-r));
	return 0;
}

int span_names_open(uint32_t pid, struct span_names **ret, struct err *err)
{
	_cleanup_(span_names_freep) struct span_names *names = must_alloc(sizeof(*names));
	int r = open_arena(pid, names, err);

	if (r == 0)
		*ret = TAKE(names);
	return r;
}

void span_names_free(struct span_names *names)
{
	if (names && names->arena)
		arena_file_unmap(names->arena);
	free(names);
}

size_t span_names_switch(struct span_names *names, const char *pattern, bool off)
{
	return span_switch(names->arena, pattern, off);
}

bool span_names_next(const struct span_names *names, size_t *pos, struct span_name_state *ret)
{
	while (*pos < SPAN_NAMES) {
		const struct span_name *name = &names->arena->names[(*pos)++];

		if (!span_slot_is_used(&name->used))
			continue;
		span_name_copy(ret->name, name->name);
		ret->count = __atomic_load_n(&name->count, __ATOMIC_RELAXED);
		ret->off = __atomic_load_n(&name->off, __ATOMIC_RELAXED);
		return true;
	}
	return false;
}

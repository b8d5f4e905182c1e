/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot - locate a thread-local variable in a live process.
 *
 * The block of an executable ends at the FS base of each thread, so its file is
 * sufficient.  For a library the loader decides, and stores its decision in words that
 * elf.c found.  There are two cases.  A static block has the same negative offset from
 * the FS base in all threads.  A dynamic block is allocated when a thread first uses
 * it, and the thread stores its address in its table of modules, the DTV.
 *
 * A TLS descriptor contains either: its argument is the offset, which is negative, or the
 * address of a triple of module, offset, and the DTV generation from which they are
 * valid.  Both C libraries do it this way, although no standard requires it.
 *
 * Memory is read through /proc/PID/mem, which fails if the process handles its page
 * faults itself.  A file system behind a mapping could block the recorder as well, so
 * only anonymous memory and the mappings of objects are read; musl reuses the unused ends
 * of the objects' pages for such data.
 */
#include "record/tls/internal.h"

#include <errno.h>

#include "base/search.h"

/* Limits of plausible values. */
#define OFFSET_MAX (1ll << 31)
#define MODULE_MAX (1ull << 20)

static const struct tls_range *find_range(const struct tls_process *p, uint64_t address)
{
	size_t first = partition_point(p->range_count, i, p->ranges[i].end <= address);

	return first < p->range_count && p->ranges[first].start <= address ? &p->ranges[first]
									   : NULL;
}

static int read_words(const struct tls_process *p, uint64_t address, uint64_t *ret, size_t count,
		      struct err *err)
{
	const struct tls_range *range = find_range(p, address);
	size_t size = count * sizeof(ret[0]);

	if (!range || size > range->end - address || address > INT64_MAX ||
	    (range->file && !map_find(p->files, range->file)))
		return err_set(err, -EOPNOTSUPP, "its memory layout is unexpected");

	ssize_t n = pread(p->mem, ret, size, address);

	if (n < 0)
		return err_errno(err, "cannot read its memory");
	return n == (ssize_t)size ? 0 : err_set(err, -ESRCH, "the process has exited");
}

static int not_loaded_yet(struct err *err)
{
	return err_set(err, -EAGAIN, "it is still being loaded");
}

static int implausible(struct err *err)
{
	return err_set(err, -EOPNOTSUPP, "its loader's data is implausible");
}

static int set_static(int64_t offset, const char *model, struct tls_location *ret, struct err *err)
{
	if (offset >= 0 || offset < -OFFSET_MAX)
		return implausible(err);
	ret->wire.kind = TLS_LOCATION_STATIC;
	ret->wire.offset = offset;
	ret->model = model;
	return 0;
}

struct dynamic_block {
	uint64_t module;
	int64_t offset; /* of the variable */
	uint64_t generation;
};

static int set_dynamic(const struct tls_process *p, const struct dynamic_block *block,
		       const char *model, struct tls_location *ret, struct err *err)
{
	if (block->module == 0 || block->module > MODULE_MAX || block->offset < 0 ||
	    block->offset > OFFSET_MAX)
		return implausible(err);
	if (p->loader != TLS_LOADER_GLIBC && p->loader != TLS_LOADER_MUSL)
		return err_set(err, -EOPNOTSUPP, "its C library is neither glibc nor musl");
	ret->wire.kind = p->loader == TLS_LOADER_GLIBC ? TLS_LOCATION_GLIBC : TLS_LOCATION_MUSL;
	ret->wire.offset = block->offset;
	ret->wire.module = block->module;
	ret->wire.generation = p->loader == TLS_LOADER_GLIBC ? block->generation : 0;
	ret->model = model;
	return 0;
}

/* The block ends at the FS base, after padding for its alignment. */
static int resolve_executable(const struct tls_object *o, struct tls_location *ret, struct err *err)
{
	uint64_t fill = -(o->block_address + o->block_size) & (o->block_align - 1);

	return set_static((int64_t)o->value - (int64_t)o->block_size - (int64_t)fill,
			  "static, in the executable", ret, err);
}

/* Correct an offset from a slot, which contains the addend and, unless named, not the variable. */
static int64_t correction(const struct tls_object *o, const struct tls_slot *slot)
{
	return (slot->named ? 0 : (int64_t)o->value) - slot->addend;
}

/* The words of a slot are 0 until the loader fills them in. */
static int resolve_offset(const struct tls_object *o, const struct tls_slot *slot,
			  const uint64_t words[2], struct tls_location *ret, struct err *err)
{
	int64_t offset = words[0];

	if (offset == 0)
		return not_loaded_yet(err);
	if (offset < -OFFSET_MAX || slot->addend < -OFFSET_MAX || slot->addend > OFFSET_MAX)
		return implausible(err);
	return set_static(offset + correction(o, slot), "static (initial exec)", ret, err);
}

static int resolve_module(const struct tls_process *p, const struct tls_object *o,
			  const struct tls_slot *slot, const uint64_t words[2],
			  struct tls_location *ret, struct err *err)
{
	if (words[0] == 0)
		return not_loaded_yet(err);

	struct dynamic_block block = { .module = words[0],
				       .offset = slot->named ? words[1] : o->value };

	return set_dynamic(p, &block, "dynamic (general dynamic)", ret, err);
}

static int resolve_descriptor(const struct tls_process *p, const struct tls_object *o,
			      const struct tls_slot *slot, const uint64_t words[2],
			      struct tls_location *ret, struct err *err)
{
	uint64_t argument[3] = { 0 };
	int64_t offset = words[1];

	if (words[0] == 0 || words[1] == 0)
		return not_loaded_yet(err);
	if (slot->addend < -OFFSET_MAX || slot->addend > OFFSET_MAX || offset < -OFFSET_MAX)
		return implausible(err);
	if (offset < 0)
		return set_static(offset + correction(o, slot), "static (TLS descriptor)", ret,
				  err);

	int r = read_words(p, words[1], argument, p->loader == TLS_LOADER_GLIBC ? 3 : 2, err);

	if (r < 0)
		return r;
	if (argument[1] > (uint64_t)OFFSET_MAX)
		return implausible(err);

	struct dynamic_block block = { .module = argument[0],
				       .offset = (int64_t)argument[1] + correction(o, slot),
				       .generation = argument[2] };

	return set_dynamic(p, &block, "dynamic (TLS descriptor)", ret, err);
}

int tls_slot_resolve(const struct tls_process *process, const struct tls_object *object,
		     uint64_t bias, struct tls_location *ret, struct err *err)
{
	if (object->executable)
		return resolve_executable(object, ret, err);
	for (int kind = 0; kind < TLS_SLOT_KINDS; kind++) {
		const struct tls_slot *slot = &object->slots[kind];
		uint64_t words[2] = { 0 };

		if (!slot->used)
			continue;

		int r = read_words(process, bias + slot->address, words,
				   kind == TLS_SLOT_OFFSET ? 1 : 2, err);

		if (r < 0)
			return r;
		switch ((enum tls_slot_kind)kind) {
		case TLS_SLOT_OFFSET:
			return resolve_offset(object, slot, words, ret, err);
		case TLS_SLOT_MODULE:
			return resolve_module(process, object, slot, words, ret, err);
		default:
			return resolve_descriptor(process, object, slot, words, ret, err);
		}
	}
	return err_set(err, -EOPNOTSUPP, "it contains no reference to it that gives its location");
}

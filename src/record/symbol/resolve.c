/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_resolve - the second step: the functions of all places.
 *
 * Places are sorted by module and by where they are in it.  Each module is
 * then one job for one child: it opens the file once, goes through its symbols
 * and debug information once, and gives all its memory back when it ends.
 * Places in many processes that run the same program fall together.
 */
#include "record/symbol/internal.h"

#include <string.h>

/* No single file may take more than this out of the budget, or more than half of what is left. */
#define MODULE_TIME (10 * NSEC_PER_SEC)

struct order {
	uint64_t key;
	uint32_t module;
	uint32_t index; /* of the place */
};

struct context {
	struct symbols *syms;
	const struct symbol_location *places;
	nsec_t deadline;
	symbol_fn *fn;
	void *arg;
};

static int by_module(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return 0;
}

/* Where to look: in a caller, the call and not what stands behind it. */
static uint64_t key_of(const struct symbols *syms, const struct symbol_location *place)
{
	enum module_kind kind = syms->modules.list.items[place->module].kind;

	return (kind == MODULE_JIT ? place->address : place->offset) - place->is_return;
}

static void tell(const struct context *ctx, uint32_t index, struct reply reply)
{
	struct symbol_function chain[CHAIN_MAX];

	if (reply.count == 0)
		return;
	memcpy(chain, reply.chain, reply.count * sizeof(*chain));
	for (size_t i = 0; i < reply.count; i++)
		chain[i].offset += ctx->places[index].is_return;
	ctx->fn(ctx->arg, index, chain, reply.count);
}

static void resolve_kernel(const struct context *ctx, uint32_t index)
{
	const struct kernel *kernel = &ctx->syms->kernel;
	uint64_t address = ctx->places[index].address - ctx->places[index].is_return;
	const struct kernel_symbol *sym = kernel_find(kernel, address);

	if (!sym)
		return;
	struct symbol_function chain = { .name = &kernel->names.items[sym->name],
					 .source = "",
					 .offset = address - sym->address };
	tell(ctx, index, (struct reply){ .chain = &chain, .count = 1 });
}

static void note_trouble(struct symbols *syms, const struct module *mod, const char *what)
{
	if (*what && syms->troubles++ == 0)
		snprintf(syms->trouble, sizeof(syms->trouble), "'%.400s': %s", mod->name, what);
}

/* All of `order` are in the same module. */
static int resolve_module(const struct context *ctx, const struct order *order, size_t count,
			  struct err *err)
{
	const struct module *mod = &ctx->syms->modules.list.items[order->module];
	struct job job = { .path = mod->name,
			   .resolve = mod->kind == MODULE_JIT ? perfmap_resolve : elf_resolve };
	nsec_t now = clock_now(), time = now < ctx->deadline ? (ctx->deadline - now) / 2 : 0;
	struct replies replies = { 0 };

	if (mod->kind == MODULE_NAMED || time == 0)
		return 0;
	_cleanup_(closep) int fd = file_open(mod);
	if (fd < 0)
		return 0;
	_cleanup_(freep) uint64_t *keys = must_alloc(count * sizeof(*keys));
	for (size_t i = 0; i < count; i++)
		if (i == 0 || order[i].key != keys[job.count - 1])
			keys[job.count++] = order[i].key;
	job.keys = keys;
	job.fd = fd;

	int r = worker_run(&job, now + (time < MODULE_TIME ? time : MODULE_TIME), &replies, err);
	if (r < 0)
		return r;
	note_trouble(ctx->syms, mod, replies.trouble);
	for (size_t i = 0, key = 0; i < count; i++) {
		key += order[i].key != keys[key];
		tell(ctx, order[i].index, replies.items[key]);
	}
	replies_done(&replies);
	return 0;
}

int symbol_resolve(struct symbols *syms, const struct symbol_location *places, size_t count,
		   nsec_t budget, symbol_fn *fn, void *arg, struct err *err)
{
	struct context ctx = { syms, places, clock_now() + budget, fn, arg };
	_cleanup_(freep) struct order *order = must_alloc((count + 1) * sizeof(*order));
	size_t used = 0, end;
	int r = 0;

	name_prepare();
	for (size_t i = 0; i < count; i++) {
		const struct symbol_location *place = &places[i];

		if (place->pid == 0)
			resolve_kernel(&ctx, i);
		else if (place->module != 0 && place->module < syms->modules.list.count)
			order[used++] = (struct order){ key_of(syms, place), place->module, i };
	}
	qsort(order, used, sizeof(*order), by_module);
	for (size_t start = 0; start < used && r == 0; start = end) {
		for (end = start + 1; end < used && order[end].module == order[start].module;)
			end++;
		r = resolve_module(&ctx, order + start, end - start, err);
	}
	return r;
}

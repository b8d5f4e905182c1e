/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_resolve - the second step: find the functions of all locations.
 *
 * Locations are sorted by module and by offset.  Each module is one job for one
 * worker process, which reads the symbols and the debug information of the file
 * once, and frees all of its memory when it exits.  Locations in different
 * processes that run the same program are resolved together.
 */
#include "record/symbol/internal.h"

#include <string.h>

/* The longest time for one file, which also gets at most half of the remaining budget. */
#define MODULE_TIME (10 * NSEC_PER_SEC)

struct order {
	uint64_t key;
	uint32_t module;
	uint32_t index; /* of the location */
};

struct resolution {
	struct symbols *syms;
	const struct symbol_location *locations;
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

/* The offset or address to look up: for a return address, that of the call before it. */
static uint64_t key_of(const struct symbols *syms, const struct symbol_location *location)
{
	enum module_kind kind = syms->modules.list.items[location->module].kind;

	return (kind == MODULE_JIT ? location->address : location->offset) - location->is_return;
}

static void report(const struct resolution *ctx, uint32_t index, struct reply reply)
{
	struct symbol_function chain[CHAIN_MAX];

	if (reply.count == 0)
		return;
	memcpy(chain, reply.chain, reply.count * sizeof(*chain));
	for (size_t i = 0; i < reply.count; i++)
		chain[i].offset += ctx->locations[index].is_return;
	ctx->fn(ctx->arg, index, chain, reply.count);
}

bool symbol_find_kernel(const struct symbols *syms, const struct symbol_location *location,
			struct symbol_function *ret)
{
	const struct kernel_symbols *kernel = &syms->kernel;
	const struct kernel_symbol *sym =
		kernel_symbols_find(kernel, location->address - location->is_return);

	if (!sym)
		return false;
	*ret = (struct symbol_function){ .name = &kernel->names.items[sym->name],
					 .source = "",
					 .offset = location->address - sym->address };
	return true;
}

static void resolve_kernel(const struct resolution *ctx, uint32_t index)
{
	struct symbol_function function;

	if (symbol_find_kernel(ctx->syms, &ctx->locations[index], &function))
		ctx->fn(ctx->arg, index, &function, 1);
}

static void add_trouble(struct symbols *syms, const struct module *mod, const char *what)
{
	if (*what && syms->troubles++ == 0)
		snprintf(syms->trouble, sizeof(syms->trouble), "'%.400s': %s", mod->name, what);
}

/* All items of `order` have the same module. */
static int resolve_module(const struct resolution *ctx, const struct order *order, size_t count,
			  struct err *err)
{
	const struct module *mod = &ctx->syms->modules.list.items[order->module];
	struct job job = { .path = mod->name,
			   .resolve = mod->kind == MODULE_JIT ? perfmap_resolve : elf_resolve };
	nsec_t now = clock_now(), time = now < ctx->deadline ? (ctx->deadline - now) / 2 : 0;
	struct replies replies = { 0 };

	if (mod->kind == MODULE_NAMED || time == 0)
		return 0;
	_cleanup_(closep) int fd = module_open(mod);
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
	add_trouble(ctx->syms, mod, replies.trouble);
	for (size_t i = 0, key = 0; i < count; i++) {
		key += order[i].key != keys[key];
		report(ctx, order[i].index, replies.items[key]);
	}
	replies_done(&replies);
	return 0;
}

int symbol_resolve(struct symbols *syms, const struct symbol_location *locations, size_t count,
		   nsec_t budget, symbol_fn *fn, void *arg, struct err *err)
{
	struct resolution ctx = { syms, locations, clock_now() + budget, fn, arg };
	_cleanup_(freep) struct order *order = must_alloc((count + 1) * sizeof(*order));
	size_t used = 0, end;
	int r = 0;

	name_prepare();
	for (size_t i = 0; i < count; i++) {
		const struct symbol_location *location = &locations[i];

		if (location->pid == 0)
			resolve_kernel(&ctx, i);
		else if (location->module != 0 && location->module < syms->modules.list.count)
			order[used++] =
				(struct order){ key_of(syms, location), location->module, i };
	}
	qsort(order, used, sizeof(*order), by_module);
	for (size_t start = 0; start < used && r == 0; start = end) {
		for (end = start + 1; end < used && order[end].module == order[start].module;)
			end++;
		r = resolve_module(&ctx, order + start, end - start, err);
	}
	return r;
}

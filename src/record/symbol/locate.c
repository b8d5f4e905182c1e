/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_locate - the first step: find the module of an address, and the offset in it. */
#include "record/symbol/internal.h"

struct symbols *symbols_new(void)
{
	struct symbols *syms = must_alloc(sizeof(*syms));

	modules_init(&syms->modules);
	return syms;
}

void symbols_free(struct symbols *syms)
{
	if (!syms)
		return;
	kernel_symbols_done(&syms->kernel);
	maps_done(&syms->maps);
	modules_done(&syms->modules);
	free(syms);
}

int symbols_load_kernel(struct symbols *syms, struct err *err)
{
	FILE *file = fopen("/proc/kallsyms", "re");

	if (!file)
		return err_errno(err, "cannot open '/proc/kallsyms'");
	int r = kernel_symbols_load(&syms->kernel, file, err);
	fclose(file);
	return r;
}

void symbols_prepare(void)
{
	name_prepare();
}

const char *symbols_trouble(const struct symbols *syms, char *buf, size_t room)
{
	if (syms->troubles == 0)
		return NULL;
	if (syms->troubles == 1)
		snprintf(buf, room, "cannot read all symbols of %s", syms->trouble);
	else
		snprintf(buf, room, "cannot read all symbols of %zu files, such as %s",
			 syms->troubles, syms->trouble);
	return buf;
}

void symbols_forget(struct symbols *syms, uint32_t pid)
{
	maps_forget(&syms->maps, pid);
}

const char *symbol_module(const struct symbols *syms, uint32_t module)
{
	return module < syms->modules.list.count ? syms->modules.list.items[module].name : "";
}

static void locate_kernel(struct symbols *syms, struct symbol_location *location)
{
	const struct kernel_symbols *kernel = &syms->kernel;
	const struct kernel_symbol *sym =
		kernel_symbols_find(kernel, location->address - location->is_return);
	struct module mod = { .name = "[kernel]" };

	if (sym)
		mod.name = kernel->modules.items[sym->module];
	location->module = modules_add(&syms->modules, &mod);
	if (sym && sym->module == 0 && kernel->base && location->address > kernel->base)
		location->offset = location->address - kernel->base;
}

static void locate_user(struct symbols *syms, struct symbol_location *location)
{
	struct modules *mods = &syms->modules;
	const struct mapping *map = maps_find(&syms->maps, mods, location->pid,
					      location->address - location->is_return);

	if (!map)
		return;
	uint32_t module = map->module;
	module_find_file(mods, module, location->pid, map);
	if (mods->list.items[module].kind == MODULE_DATA) {
		struct module jit = { .name = "[jit]", .kind = MODULE_JIT, .pid = location->pid };

		module = modules_add(mods, &jit);
		module_find_file(mods, module, location->pid, map);
	}
	location->module = module;
	if (mods->list.items[module].kind != MODULE_JIT)
		location->offset = map->offset + (location->address - map->start);
}

void symbol_locate(struct symbols *syms, uint32_t pid, uint64_t address, bool is_return,
		   struct symbol_location *ret)
{
	*ret = (struct symbol_location){ .address = address, .pid = pid, .is_return = is_return };
	if (pid == 0)
		locate_kernel(syms, ret);
	else
		locate_user(syms, ret);
}

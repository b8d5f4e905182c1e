/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the libraries of tests/workloads/ctx_var.c into this process, and compares the true
 * address of their variable in the calling thread with the location found from outside.  Then
 * reads damaged copies of the same files.
 */
#include "record/tls/locate.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include "record/tls/internal.h"
#include "test.h"

static const char *fixture(const char *name)
{
	static char path[4096];
	const char *folder = getenv("WORKLOADS");

	snprintf(path, sizeof(path), "%s/%s", folder ? folder : ".", name);
	return path;
}

/* The address in the calling thread, computed like in the kernel program; 0 if there is none. */
static uintptr_t address_of(const struct wire_tls_location *location)
{
	uintptr_t base = (uintptr_t)__builtin_thread_pointer();

	if (location->kind == TLS_LOCATION_STATIC)
		return base + location->offset;

	const uint64_t *dtv = ((uint64_t **)base)[1];

	if (location->kind != TLS_LOCATION_GLIBC || location->module > dtv[-2] ||
	    location->generation > dtv[0] || dtv[2 * location->module] == UINT64_MAX)
		return 0;
	return dtv[2 * location->module] + location->offset;
}

/* Load a library, locate its variable, and unload it. */
static void check_library(const char *name, enum tls_location_kind kind)
{
	_cleanup_(tls_files_freep) struct tls_files *files = tls_files_new();
	struct tls_location location = { .model = "" };
	struct err err = { "" };
	void *library = dlopen(fixture(name), RTLD_NOW | RTLD_LOCAL);
	uintptr_t variable = library ? (uintptr_t)dlsym(library, TLS_SYMBOL) : 0;

	CHECK(variable != 0);
	CHECK_INT(tls_locate(files, getpid(), &location, &err), 0);
	CHECK_STR(err.text, "");
	CHECK_INT(location.wire.kind, kind);
	CHECK(strstr(location.object, name) != NULL);
	CHECK_INT(address_of(&location.wire), variable);
	if (library)
		dlclose(library);
}

TEST(a_process_without_the_variable_has_no_location)
{
	_cleanup_(tls_files_freep) struct tls_files *files = tls_files_new();
	struct tls_location location;
	struct err err = { "" };
	char want[128];

	CHECK_INT(tls_locate(files, getpid(), &location, &err), -ENOENT);
	snprintf(want, sizeof(want), "no object of process %d exports " TLS_SYMBOL, getpid());
	CHECK_STR(err.text, want);
}

TEST(a_missing_process_has_no_location)
{
	_cleanup_(tls_files_freep) struct tls_files *files = tls_files_new();
	struct tls_location location;
	struct err err = { "" };

	CHECK_INT(tls_locate(files, 1u << 30, &location, &err), -ESRCH);
	CHECK_STR(err.text, "there is no process 1073741824");
}

TEST(initial_exec_access_is_located)
{
	check_library("libctx_ie.so", TLS_LOCATION_STATIC);
}

TEST(initial_exec_access_without_symbol_is_located)
{
	check_library("libctx_ie_own.so", TLS_LOCATION_STATIC);
}

TEST(general_dynamic_access_is_located)
{
	check_library("libctx_gd.so", TLS_LOCATION_GLIBC);
}

TEST(general_dynamic_access_without_symbol_is_located)
{
	check_library("libctx_gd_own.so", TLS_LOCATION_GLIBC);
}

TEST(a_descriptor_of_a_static_block_is_located)
{
	check_library("libctx_desc.so", TLS_LOCATION_STATIC);
}

TEST(a_descriptor_of_a_static_block_without_symbol_is_located)
{
	check_library("libctx_desc_own.so", TLS_LOCATION_STATIC);
}

TEST(a_descriptor_of_a_dynamic_block_is_located)
{
	check_library("libctx_desc_large.so", TLS_LOCATION_GLIBC);
}

TEST(a_descriptor_of_a_dynamic_block_without_symbol_is_located)
{
	check_library("libctx_desc_large_own.so", TLS_LOCATION_GLIBC);
}

static void *find_none(void *arg)
{
	const struct tls_location *location = arg;

	CHECK_INT(address_of(&location->wire), 0);
	return NULL;
}

TEST(a_thread_that_never_used_the_variable_has_no_block)
{
	_cleanup_(tls_files_freep) struct tls_files *files = tls_files_new();
	void *library = dlopen(fixture("libctx_desc_large.so"), RTLD_NOW | RTLD_LOCAL);
	struct tls_location location;
	struct err err;
	pthread_t thread;

	if (!library || tls_locate(files, getpid(), &location, &err) < 0)
		SKIP("the library does not load");
	if (pthread_create(&thread, NULL, find_none, &location) == 0)
		pthread_join(thread, NULL);
	dlclose(library);
}

/* Files */

static void read_object(const char *name, struct tls_object *ret)
{
	_cleanup_(closep) int fd = open(fixture(name), O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	tls_object_read(fd, ret);
}

TEST(executables_define_the_location)
{
	static const struct {
		const char *name;
		enum tls_loader loader;
	} list[] = { { "ctx_static", TLS_LOADER_NONE },
		     { "ctx_static_pie", TLS_LOADER_NONE },
		     { "ctx_pie", TLS_LOADER_GLIBC },
		     { "ctx_fixed", TLS_LOADER_GLIBC } };

	for (size_t i = 0; i < ARRAY_LEN(list); i++) {
		struct tls_object o;

		read_object(list[i].name, &o);
		CHECK(o.executable && o.defines && !o.foreign);
		CHECK_INT(o.loader, list[i].loader);
	}
}

TEST(a_reference_is_not_a_definition)
{
	struct tls_object o;

	read_object("ctx_load", &o);
	CHECK(o.executable && !o.defines);
}

TEST(the_block_of_an_executable_ends_at_the_fs_base)
{
	struct tls_process process = { 0 };
	struct tls_location location = { 0 };
	struct err err;
	/* 40 bytes, of which the variable is the third word; aligned to 16, but begun in the middle
	 */
	struct tls_object o = { .executable = true,
				.defines = true,
				.value = 16,
				.block_address = 0x1000,
				.block_size = 40,
				.block_align = 16 };

	CHECK_INT(tls_slot_resolve(&process, &o, 0, &location, &err), 0);
	CHECK_INT(location.wire.offset, 16 - 48);
	o.block_address = 0x1008;
	CHECK_INT(tls_slot_resolve(&process, &o, 0, &location, &err), 0);
	CHECK_INT(location.wire.offset, 16 - 40);
}

/* Damage */

struct bad_file {
	int fd;
	size_t size;
	uint8_t *bytes;
};

static void bad_file_done(struct bad_file *f)
{
	closep(&f->fd);
	free(f->bytes);
}

static struct bad_file bad_file_of(const char *name)
{
	struct bad_file f = { .fd = memfd_create("bad", MFD_CLOEXEC) };
	_cleanup_(closep) int fd = open(fixture(name), O_RDONLY | O_CLOEXEC);

	f.size = lseek(fd, 0, SEEK_END);
	f.bytes = must_alloc(f.size);
	if (f.fd < 0 || pread(fd, f.bytes, f.size, 0) != (ssize_t)f.size)
		abort();
	return f;
}

static bool defines(struct bad_file *f, size_t size)
{
	struct tls_object o;

	if (ftruncate(f->fd, 0) != 0 || pwrite(f->fd, f->bytes, size, 0) != (ssize_t)size)
		abort();
	tls_object_read(f->fd, &o);
	return o.defines;
}

TEST(truncated_files_do_no_harm)
{
	_cleanup_(bad_file_done) struct bad_file f = bad_file_of("libctx_gd.so");

	CHECK(defines(&f, f.size));
	CHECK(!defines(&f, 0));
	for (size_t size = 1; size < f.size; size += size < 1024 ? 1 : 61)
		defines(&f, size);
}

/* Everything but a crash or a hang is correct.  Repairs the damage. */
TEST(corrupted_files_do_no_harm)
{
	static const char *const names[] = { "libctx_gd.so", "libctx_desc_own.so" };
	static const uint64_t numbers[] = { 0,          1,         0xff,      0x7fffffff,
					    UINT32_MAX, INT64_MAX, UINT64_MAX };

	for (size_t n = 0; n < ARRAY_LEN(names); n++) {
		_cleanup_(bad_file_done) struct bad_file f = bad_file_of(names[n]);

		for (size_t at = 16; at + 8 <= f.size && at < 4096; at += 4)
			for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
				uint64_t old;

				memcpy(&old, f.bytes + at, 8);
				memcpy(f.bytes + at, &numbers[i], at % 8 ? 4 : 8);
				defines(&f, f.size);
				memcpy(f.bytes + at, &old, 8);
			}
	}
}

/* A hash chain that leads back to itself. */
TEST(an_endless_hash_chain_is_bounded)
{
	_cleanup_(bad_file_done) struct bad_file f = bad_file_of("libctx_gd.so");
	const Elf64_Ehdr *head = (void *)f.bytes;
	const Elf64_Shdr *sections = (void *)(f.bytes + head->e_shoff);
	struct timespec before, after;

	for (size_t i = 0; i < head->e_shnum; i++) {
		if (sections[i].sh_type != SHT_HASH)
			continue;

		uint32_t *hash = (void *)(f.bytes + sections[i].sh_offset);

		for (uint32_t k = 0; k < hash[0] + hash[1]; k++)
			hash[2 + k] = 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &before);
	defines(&f, f.size); /* any symbol */
	clock_gettime(CLOCK_MONOTONIC, &after);
	CHECK(after.tv_sec - before.tv_sec < 10);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mapping.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/map.h"

/*
 * The handler must not wait for a lock that the interrupted code can hold, so it
 * walks a list whose entries are never freed or moved: new entries are pushed to
 * the front, and unused entries have the size 0.
 */
struct entry {
	uintptr_t start;
	size_t size;
	int protection;
	bool is_guard; /* for a library: covers all addresses outside of other entries */
	bool is_lost;
	char *name;
	struct entry *next;      /* in `entries` */
	struct entry *next_free; /* in `free_entries` */
};

static struct entry *entries;
static unsigned int losses;
static struct sigaction previous_action;

/* Not used by the handler, and protected by the lock. */
static bool is_locked;
static bool is_handled;
static struct entry *free_entries;
static struct map entry_of; /* start -> struct entry */
static char *lost_name;     /* of the first lost mapping that was freed */

static void lock(void)
{
	while (__atomic_exchange_n(&is_locked, true, __ATOMIC_ACQUIRE))
		;
}

static void unlock(void)
{
	__atomic_store_n(&is_locked, false, __ATOMIC_RELEASE);
}

/* The mapping that contains an address, otherwise a library's guard; NULL if there is neither. */
static struct entry *find(uintptr_t address)
{
	struct entry *e = __atomic_load_n(&entries, __ATOMIC_ACQUIRE), *guard = NULL;

	for (; e; e = e->next) {
		size_t size = __atomic_load_n(&e->size, __ATOMIC_ACQUIRE);

		if (size && e->is_guard)
			guard = e;
		else if (size && address - e->start < size)
			return e;
	}
	return guard;
}

static bool put_zeros(uintptr_t start, size_t size, int protection)
{
	return mmap((void *)start, size, protection, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0) != MAP_FAILED;
}

/* Replace all pages from the missing one on: a truncated file has lost those, too. */
static bool replace(uintptr_t address)
{
	size_t page_size = sysconf(_SC_PAGESIZE);
	uintptr_t page = address & ~((uintptr_t)page_size - 1);
	struct entry *e = find(address);

	if (!e)
		return false;
	e->is_lost = true;
	return put_zeros(page, e->is_guard ? page_size : e->start + e->size - page, e->protection);
}

static void on_sigbus(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code == BUS_ADRERR && replace((uintptr_t)info->si_addr)) {
		__atomic_add_fetch(&losses, 1, __ATOMIC_RELAXED);
		return;
	}
	sigaction(number, &previous_action, NULL);
	if (info->si_code <= 0)
		raise(number); /* a process sent it; unlike a fault, it does not recur on return */
}

/* Call with the lock held. */
static void handle_sigbus(void)
{
	struct sigaction action = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO };

	if (!is_handled)
		sigaction(SIGBUS, &action, &previous_action);
	is_handled = true;
}

/* An unused entry of the list; call with the lock held. */
static struct entry *take_entry(void)
{
	struct entry *e = free_entries;

	if (e) {
		free_entries = e->next_free;
		return e;
	}
	e = must_alloc(sizeof(*e));
	e->next = entries;
	__atomic_store_n(&entries, e, __ATOMIC_RELEASE);
	return e;
}

static struct entry *add(uintptr_t start, size_t size, int protection, const char *name)
{
	lock();
	handle_sigbus();

	struct entry *e = take_entry();

	e->start = start;
	e->protection = protection;
	e->is_lost = false;
	e->is_guard = start == 0;
	e->name = name ? must_strdup(name) : NULL;
	if (!e->is_guard)
		map_insert_ptr(&entry_of, start, e);
	__atomic_store_n(&e->size, size, __ATOMIC_RELEASE);
	unlock();
	return e;
}

/* Call with the lock held. */
static void drop(struct entry *e)
{
	__atomic_store_n(&e->size, 0, __ATOMIC_RELEASE);
	if (e->is_lost && !lost_name)
		lost_name = TAKE(e->name);
	free(TAKE(e->name));
	e->next_free = free_entries;
	free_entries = e;
}

void *mapping_new(int fd, size_t size, int protection, int flags, const char *name)
{
	void *start = mmap(NULL, size, protection, flags, fd, 0);

	if (start == MAP_FAILED)
		return NULL;
	add((uintptr_t)start, size, protection, name);
	return start;
}

void mapping_free(void *start, size_t size)
{
	lock();

	drop(map_find_ptr(&entry_of, (uintptr_t)start));
	map_remove(&entry_of, (uintptr_t)start);
	unlock();
	munmap(start, size);
}

bool mapping_is_lost(const void *start)
{
	lock();

	const struct entry *e = map_find_ptr(&entry_of, (uintptr_t)start);
	bool is_lost = e->is_lost;

	unlock();
	return is_lost;
}

unsigned int mapping_losses(void)
{
	return __atomic_load_n(&losses, __ATOMIC_RELAXED);
}

const char *mapping_lost_name(void)
{
	if (lost_name)
		return lost_name;
	for (const struct entry *e = __atomic_load_n(&entries, __ATOMIC_ACQUIRE); e; e = e->next)
		if (__atomic_load_n(&e->size, __ATOMIC_ACQUIRE) && e->is_lost && e->name)
			return e->name;
	return NULL;
}

struct mapping_guard *mapping_guard_new(const char *name)
{
	return (struct mapping_guard *)add(0, SIZE_MAX, PROT_READ | PROT_WRITE, name);
}

void mapping_guard_free(struct mapping_guard *guard)
{
	if (!guard)
		return;
	lock();
	drop((struct entry *)guard);
	unlock();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build - hand-written captures for tests.
 *
 *	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(scratch("x"));
 *	build_add(w, REC(RUN, run, 200, 17, .start = 100));
 *	build_close(w);
 *
 * Unexpected failures abort the test.
 */
#ifndef SONDE_TESTS_BUILD_H
#define SONDE_TESTS_BUILD_H

#include "base/base.h"
#include "event/capture.h"

/* A record of a kind, time and thread; further arguments initialise its other fields. */
#define REC(KIND, type, when, thread, ...) \
	(&(struct record_##type){ .head = { .time = (when), \
					    .tid = (thread), \
					    .kind = RECORD_##KIND, \
					    .words = sizeof(struct record_##type) / 8 }, \
				  __VA_ARGS__ } \
		  .head)

/* The path of a file in a temporary directory, which is removed when the test ends. */
const char *scratch(const char *name);

extern const struct capture_meta build_meta;

struct capture_writer *build_capture(const char *path);
void build_add(struct capture_writer *w, const struct record *record);
void build_probe_event(struct capture_writer *w, nsec_t time, uint16_t type, const void *data,
		       size_t size);
void build_stack(struct capture_writer *w, nsec_t time, uint32_t stack, uint16_t kernel_count,
		 uint16_t user_count);
void build_close(struct capture_writer *w); /* does not free it */

/* One record of each kind, with strings, in two blocks; times 1000 to 1000 + kinds. */
void build_all_kinds(struct capture_writer *w);

/*
 * Runs fn in a child process and returns its exit code.  A failed check in the child fails this
 * test, too, and the code is 1.
 */
int in_child(void (*fn)(void));

#endif

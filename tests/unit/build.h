/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build - captures made by hand, for tests.
 *
 *	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(scratch("x"));
 *	build_add(w, REC(RUN, run, 200, 17, .start = 100));
 *	build_close(w);
 *
 * What cannot fail in a working program is not reported but ends the test.
 */
#ifndef SONDE_TESTS_BUILD_H
#define SONDE_TESTS_BUILD_H

#include "base/base.h"
#include "event/capture.h"

/* A record of its kind at a time, about a thread; the rest are its other fields. */
#define REC(KIND, type, when, thread, ...) \
	(&(struct record_##type){ .head = { .time = (when), \
					    .tid = (thread), \
					    .kind = RECORD_##KIND, \
					    .words = sizeof(struct record_##type) / 8 }, \
				  __VA_ARGS__ } \
		  .head)

/* The path of a file in a directory that is removed with all its files when the test ends. */
const char *scratch(const char *name);

extern const struct capture_meta build_meta;

struct capture_writer *build_capture(const char *path);
void build_add(struct capture_writer *w, const struct record *record);
void build_probe_event(struct capture_writer *w, nsec_t time, uint16_t type, const void *data,
		       size_t size);
void build_stack(struct capture_writer *w, nsec_t time, uint32_t stack, uint16_t kernel_count,
		 uint16_t user_count);
void build_close(struct capture_writer *w); /* does not free it */

/* One of each kind, with strings, in two blocks of records; times 1000 to 1000 + kinds. */
void build_all_kinds(struct capture_writer *w);

/*
 * Runs fn in a child and returns its exit code.  It is 1 if a check failed there,
 * which is a failure of this test, too.
 */
int in_child(void (*fn)(void));

#endif

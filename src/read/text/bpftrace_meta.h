/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpftrace_meta - which container a thread is in, as MiSeRTrace's script lists them.
 *
 *	1966384|nginx-thrift|172.18.0.2|6f3c0d1e...
 *
 * Thread, name of the container, its address, its number; with or without
 * quotes.  The log says nothing of containers, so what is in the list comes to
 * be the control group of a process, "container/nginx-thrift/172.18.0.2".
 * Nothing says which threads are of one process; to the list, each is one.
 */
#ifndef SONDE_READ_TEXT_BPFTRACE_META_H
#define SONDE_READ_TEXT_BPFTRACE_META_H

#include "base/map.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "base/view.h"

struct bpftrace_row {
	uint32_t tid;
	str_id group;
};

/* All zero is an empty list. */
struct bpftrace_meta {
	VEC(struct bpftrace_row) rows;
	struct map groups; /* of a tid: the string */
	struct strtab *strings;
	uint64_t strange; /* lines that are no such row */
};

void bpftrace_meta_read(struct bpftrace_meta *meta, struct view text);

/* Finds the list that belongs to a log, and reads it: meta.psv beside it, or LOG.meta. */
void bpftrace_meta_find(struct bpftrace_meta *meta, const char *log);

/* A thread was created: it is where its parent is.  False if nobody knows where that is. */
bool bpftrace_meta_fork(struct bpftrace_meta *meta, uint32_t parent, uint32_t child);

/* Where a thread is; "" if it is not in the list. */
const char *bpftrace_meta_group(const struct bpftrace_meta *meta, uint32_t tid);

void bpftrace_meta_done(struct bpftrace_meta *meta);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names - who and what the numbers in records stand for, at this moment.
 *
 * Threads, sockets, files and devices are named by records of their own, which
 * stand before the first record that needs them.  Numbers are reused: when a
 * thread has ended, another may get its number, and says so by a TASK record
 * of its own.  So a name holds from the record that gives it until the next;
 * whoever reads records feeds each, in order, and asks in between.
 *
 * These are the names of one host.  Types of hits have numbers of each input.
 */
#ifndef SONDE_REPORT_NAMES_H
#define SONDE_REPORT_NAMES_H

#include "event/event.h"
#include "event/socket_name.h"
#include "event/source.h"
#include "report/probe_format.h"

struct names;

struct names *names_new(void);
void names_free(struct names *names);
DEFINE_FREEP(names)

void names_feed(struct names *names, const struct source *source, const struct record *record);

/* What is given out below is borrowed, and holds until the next names_feed(). */

struct thread_name {
	uint32_t pid;     /* 0 if unknown */
	const char *comm; /* "" if unknown */
};

struct thread_name names_thread(const struct names *names, uint32_t tid);

/* The process a record is about; 0 if it is about none. */
uint32_t names_pid(const struct names *names, const struct record *record);

/* These are NULL if unknown. */
const struct socket_name *names_socket(const struct names *names, uint64_t object);
const char *names_file(const struct names *names, uint64_t object);
const char *names_device(const struct names *names, uint32_t device);

struct probe_name {
	const char *event; /* category:name */
	struct probe_format *format;
	uint32_t text; /* the number of the string that was parsed */
};

const struct probe_name *names_probe(const struct names *names, const struct source *source,
				     uint32_t type);

#endif

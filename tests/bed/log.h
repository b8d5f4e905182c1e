/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log - what a service knows of the requests that it handled: the truth.
 *
 * Entries stand in memory that was there before the first request came and that
 * forked processes share; they become text when all is over.  So there is no
 * file, no lock and no system call for the log while a request is handled, and a
 * recorder sees only what the service does.
 *
 * Times are CLOCK_MONOTONIC.  Those of a call that reads or writes are taken
 * around it: what the kernel saw lies between.
 */
#ifndef BED_LOG_H
#define BED_LOG_H

#include <stdio.h>

#include "base/base.h"

#define MAX_CALLS 8

struct ends {           /* of a connection */
	char local[48]; /* "127.0.0.1:80", "[::1]:80", "unix" */
	char peer[48];
	uint64_t inode; /* of the socket */
};

struct call_entry { /* a request that was made for a request */
	const char *wire;
	struct ends ends;
	uint32_t tid;
	uint32_t server; /* process that answers, if the answer says so */
	uint32_t gave, got;
	nsec_t sending, sent, answered;
};

struct entry {
	char id[24];
	char hop[32];
	struct ends ends;
	uint32_t pid, reader, worker, answerer; /* threads, all but the first */
	uint32_t got, gave;                     /* bytes */
	nsec_t read;                            /* its first bytes were; taken behind the call */
	nsec_t answering, answered;             /* before the first write, and behind the last */
	uint32_t call_count;
	struct call_entry calls[MAX_CALLS];
};

struct log;

struct log *log_new(size_t room);
struct entry *
log_entry(struct log *log); /* a new one, zeroed; ends the program if there is no room */
void log_write(const struct log *log, FILE *file); /* a line of JSON for each that was answered */

nsec_t now(void);
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...); /* with errno */

#endif

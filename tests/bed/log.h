/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log - the requests that a service handled: the expected result of a recording.
 *
 * Entries are in memory that is allocated before the first request and shared by forked processes;
 * log_write() writes them as text at the end.  So logging needs no file, no lock and no system call
 * while a request is handled, and a recording contains only the work of the service.
 *
 * Times are CLOCK_MONOTONIC.  They are taken before and after a system call, so that the kernel's
 * time of the event is between them.
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

struct call_entry { /* a call that a service made for a request */
	const char *wire;
	struct ends ends;
	uint32_t tid;
	uint32_t server; /* pid of the server, if its reply names it */
	uint32_t gave, got;
	nsec_t sending, sent, replied;
};

struct entry {
	char id[24];
	char hop[32];
	struct ends ends;
	uint32_t pid, reader, worker, replier; /* process, then threads */
	uint32_t got, gave;                    /* bytes */
	nsec_t read;                           /* after the read of its first bytes */
	nsec_t replying, replied;              /* before the first write, and after the last */
	uint32_t call_count;
	struct call_entry calls[MAX_CALLS];
};

struct log;

struct log *log_new(size_t room);
struct entry *
log_entry(struct log *log); /* a new, zeroed entry; ends the program if the log is full */
void log_write(const struct log *log,
	       FILE *file); /* a line of JSON for each request with a reply */

nsec_t now(void);
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...); /* with errno */

#endif

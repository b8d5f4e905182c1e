/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play - services that ask each other, for tests of requests.
 *
 * Trees are written as in "1(2 h3(4))": thread 1 handled a request and asked 2;
 * thread 3 of the same process was handed work for it and asked 4.  f is a thread
 * created for it, ? a part whose parent could not be told.
 *
 * Connection c has its client's side at socket 40000 + c and its server's at
 * 100 + c; a client that is not recorded asks over it by ask(), and hears by
 * nobody's word.
 */
#ifndef SONDE_TESTS_PLAY_H
#define SONDE_TESTS_PLAY_H

#include "analyse/requests/requests.h"
#include "story.h"

enum { CLIENT = 40000, SERVER = 100, FUTEX = 0x7000, MUTEX = 0x9000 };

/* How many bytes each direction of each connection has seen. */
struct play {
	struct story story;
	uint32_t sent[64], replied[64];
};

void play_done(struct play *p);
void play_connection(struct play *p, unsigned c);
void play_thread(struct play *p, uint32_t tid, uint32_t pid);
void play_call(struct play *p, nsec_t t, uint32_t tid, unsigned c);
void play_unrecorded_call(struct play *p, unsigned c);
void play_receive_call(struct play *p, nsec_t t, uint32_t tid, unsigned c);
void play_reply(struct play *p, nsec_t t, uint32_t tid, unsigned c);
void play_receive_reply(struct play *p, nsec_t t, uint32_t tid, unsigned c);
void play_wait(struct play *p, nsec_t from, nsec_t to, uint32_t tid, uint32_t waker,
	       uint64_t futex);
void play_poll(struct play *p, nsec_t from, nsec_t to, uint32_t tid, uint32_t waker);
void play_check_trees(const struct play *p, const char *want);
void play_exchange(struct play *p, nsec_t t, uint32_t tid, unsigned c);

#endif

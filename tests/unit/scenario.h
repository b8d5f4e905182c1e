/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenario - threads that call each other, in a short notation, for tests of requests.
 *
 *	scenario_check("process 1; process 2;"
 *		       "10 1 gets a; 11 1 exchanges b 2; 15 1 replies a",
 *		       "1(2)");
 *
 * `process 1 3 4` declares threads 1, 3 and 4 of process 1.  All other statements are TIME THREAD
 * VERB ARGUMENT..., where TIME can be FROM-TO.  Connections are letters; a recorded thread serves
 * each.
 *
 *	10 1 gets a		thread 1 receives a call over a, from a client that is not recorded
 *	11 1 calls b		thread 1 sends a call over b
 *	12 2 takes b		thread 2 receives it
 *	13 2 replies b		thread 2 sends the reply
 *	14 1 reads b		thread 1 receives the reply
 *	11 1 calls b 2		all of the above but the last, a time unit each
 *	11 1 exchanges b 2	all of the above
 *	11 1 connects b		thread 1 opens the connection
 *	11 1 forks 9		thread 1 creates process 9
 *	11 1 spawns 9		thread 1 creates thread 9 of process 1
 *	2-11 3 waits 1		thread 3 waits on a condition variable; thread 1 wakes it
 *	2-11 1 awaits 3		thread 1 waits for a result; thread 3 wakes it
 *	2-11 3 locks 1		thread 3 waits for a mutex; thread 1 wakes it
 *	2-11 1 polls		thread 1 waits in epoll; a packet wakes it
 *	2-11 1 polls 3		thread 1 waits in epoll; thread 3 wakes it
 *	2-11 1 sleeps		thread 1 waits in epoll; a timer wakes it
 *
 * Trees are written as in "1(2 h3(4))": thread 1 handled a request and called 2; thread 3 of the
 * same process got work for it and called 4.  `f` is a thread created for the request, `c1` a
 * call of thread 1 to a service that is not recorded, `?` a request whose parent is unknown.
 */
#ifndef SONDE_TESTS_SCENARIO_H
#define SONDE_TESTS_SCENARIO_H

#include "analyse/requests/window.h"
#include "story.h"

enum { CONNECTIONS_MAX = 26 };

struct scenario {
	struct story story;
	nsec_t offset; /* added to all times that are read next */
	bool connected[CONNECTIONS_MAX];
	uint32_t sent[CONNECTIONS_MAX];    /* bytes of calls, by connection */
	uint32_t replied[CONNECTIONS_MAX]; /* bytes of replies */
};

void scenario_done(struct scenario *s);

/* Adds statements, separated by semicolons; their times count from `offset`. */
void scenario_add(struct scenario *s, nsec_t offset, const char *statements);

/* Thread `tid` receives so many bytes of a call over a connection: a part of it, up to `end`. */
void scenario_take_part(struct scenario *s, nsec_t time, uint32_t tid, char connection,
			uint32_t end, uint32_t bytes);

void scenario_check_trees(const struct scenario *s, const char *want);

/* Adds statements to an empty scenario and checks its trees. */
void scenario_check(const char *statements, const char *want);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_wakeups - the wake-up latency of each service over the last seconds.
 *
 * A consumer of live/: spans and rebuilt requests show which process belongs to which service, and
 * each batch adds the wake-ups of all threads of these processes since the batch before
 * (analyse/wakeup_latency.h), each one once.
 *
 * Names come from hostile senders, so the number of services and processes is bounded.  A service
 * leaves once none of its processes had a request for a while; until then, further ones are
 * counted as omitted.
 */
#ifndef SONDE_ANNOTATE_SERVICE_WAKEUPS_H
#define SONDE_ANNOTATE_SERVICE_WAKEUPS_H

#include "live/live.h"

enum { SERVICES_MAX = 200, SERVICE_SECONDS = 10, SERVICE_NAME_SIZE = 64 };

/* A service; sent from the worker to the relay. */
struct service_latency {
	char service[SERVICE_NAME_SIZE]; /* valid UTF-8; longer names are cut */
	uint64_t count;                  /* of wake-ups in the last SERVICE_SECONDS */
	nsec_t mean, max;
	/* what had the CPU during the longest: "" and 0 if it was idle or that is unknown */
	char cpu_thread[SERVICE_NAME_SIZE]; /* valid UTF-8 */
	uint32_t cpu_pid;
	uint8_t cpu_policy; /* as in struct record_task */
	int8_t cpu_priority;
	uint8_t pad[2];
};

struct service_wakeups;

struct service_wakeups *service_wakeups_new(void);
void service_wakeups_free(struct service_wakeups *s);
DEFINE_FREEP(service_wakeups)

/* Borrows `s`. */
struct consumer service_wakeups_consumer(struct service_wakeups *s);

/* Fills in the services by name; returns their number. */
size_t service_wakeups_list(const struct service_wakeups *s,
			    struct service_latency ret[SERVICES_MAX]);

/* Number of processes that were not added because there are too many. */
uint64_t service_wakeups_omitted(const struct service_wakeups *s);

#endif

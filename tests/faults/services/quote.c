// SPDX-License-Identifier: Apache-2.0
/* quote PORT MS - each request computes for MS of CPU time. */
#include "http.h"

static double work_us;

static void compute(double us)
{
	struct timespec start, t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((t.tv_sec - start.tv_sec) * 1e6 + (t.tv_nsec - start.tv_nsec) / 1e3 < us);
}

static void handle(int fd, const char *path)
{
	compute(work_us);
	http_reply(fd, "ok\n");
}

int main(int argc, char **argv)
{
	work_us = atof(argv[2]) * 1000;
	http_serve(atoi(argv[1]), handle);
}

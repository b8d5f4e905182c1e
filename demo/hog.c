/* SPDX-License-Identifier: Apache-2.0 */
/* hog - two threads in endless loops. */
#include <err.h>
#include <pthread.h>
#include <stdlib.h>

#include "net.h"

#define THREADS 2

static void *spin(void *arg)
{
	for (volatile unsigned turns = 0;; turns++)
		;
	return arg;
}

int main(void)
{
	pthread_t thread;

	live_briefly();
	for (int i = 1; i < THREADS; i++)
		if (pthread_create(&thread, NULL, spin, NULL))
			errx(EXIT_FAILURE, "cannot start a thread");
	spin(NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * caller - requests factorials, one after another, with short pauses.
 *
 * `small` and `large` request only one number, `mixed` requests four numbers at random.
 */
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net.h"

#define PAUSE_US 8000 /* average */

static int number(const char *which, unsigned *seed)
{
	static const int numbers[] = { 300, 1000, 2000, 3000 };

	if (!strcmp(which, "small"))
		return numbers[0];
	if (!strcmp(which, "large"))
		return numbers[3];
	return numbers[(unsigned)rand_r(seed) / 7 % 4];
}

int main(int argc, char **argv)
{
	struct peer peer;
	unsigned seed;
	uint64_t end;

	if (argc != 5)
		errx(2, "usage: caller PORT SECONDS small|large|mixed SEED");
	live_briefly();
	seed = (unsigned)atoi(argv[4]);
	end = now_ns() + (uint64_t)(atof(argv[2]) * 1e9);
	peer_connect(&peer, argv[1]);
	while (now_ns() < end) {
		if (!peer_write(&peer, "factorial %d\n", number(argv[3], &seed)) ||
		    !peer_read(&peer))
			errx(EXIT_FAILURE, "factorial closed the connection");
		usleep((unsigned)rand_r(&seed) % (2 * PAUSE_US));
	}
	peer_close(&peer);
}

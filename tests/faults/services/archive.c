// SPDX-License-Identifier: Apache-2.0
/* archive PORT MS - each request waits for a device for MS. */
#include "http.h"

static double wait_ms;

static void handle(int fd, const char *path)
{
	sleep_ms(wait_ms);
	http_reply(fd, "ok\n");
}

int main(int argc, char **argv)
{
	wait_ms = atof(argv[2]);
	http_serve(atoi(argv[1]), handle);
}

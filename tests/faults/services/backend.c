// SPDX-License-Identifier: Apache-2.0
/* A service that takes 15 ms for each request, most of it asleep, as in a call of a slow device. */
#include "http.h"

static void handle(int fd, const char *path)
{
	sleep_ms(15);
	http_reply(fd, path);
}

int main(int argc, char **argv)
{
	http_serve(atoi(argv[1]), handle);
}

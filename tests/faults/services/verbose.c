// SPDX-License-Identifier: Apache-2.0
/* verbose PORT - log 8 KiB per request to the output. */
#include "http.h"

static void handle(int fd, const char *path)
{
	static char line[8192];

	memset(line, '.', sizeof(line));
	if (write(1, line, sizeof(line)) < 0)
		http_die("log");
	http_reply(fd, "ok\n");
}

int main(int argc, char **argv)
{
	http_serve(atoi(argv[1]), handle);
}

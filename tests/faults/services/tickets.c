// SPDX-License-Identifier: Apache-2.0
/* tickets PORT - serve one connection at a time: accept, read, look up, reply, close. */
#include "http.h"

int main(int argc, char **argv)
{
	int listener = http_listen(atoi(argv[1]));
	char path[256];

	for (;;) {
		int fd = http_accept(listener);

		if (http_read(fd, path, sizeof(path))) {
			sleep_ms(20); /* the archive */
			http_reply(fd, "ok\n");
		}
		close(fd);
	}
}

// SPDX-License-Identifier: Apache-2.0
/* export PORT - a reply of 2 MiB. */
#include "http.h"

static char body[2 << 20];

static void handle(int fd, const char *path)
{
	char header[128];
	int size = snprintf(header, sizeof(header),
			    "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", sizeof(body) - 1);

	if (send(fd, header, size, MSG_MORE) < 0 ||
	    send(fd, body, sizeof(body) - 1, MSG_NOSIGNAL) < 0)
		return; /* the client has left */
}

int main(int argc, char **argv)
{
	memset(body, 'x', sizeof(body) - 1);
	http_serve(atoi(argv[1]), handle);
}

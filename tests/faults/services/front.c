// SPDX-License-Identifier: Apache-2.0
/* front PORT BACKEND-PORT - pass each request on to a backend, over a connection per client. */
#include "http.h"

static int backend_port;

static void call_backend(char *reply, size_t size)
{
	static const char request[] = "GET /item HTTP/1.1\r\nHost: backend\r\n\r\n";
	static __thread int backend;
	ssize_t n;

	if (!backend)
		backend = http_connect(backend_port);
	n = write(backend, request, sizeof(request) - 1);
	if (n > 0)
		n = read(backend, reply, size - 1);
	if (n <= 0)
		http_die("backend");
	reply[n] = '\0';
}

static void handle(int fd, const char *path)
{
	char reply[1024], *body;

	call_backend(reply, sizeof(reply));
	body = strstr(reply, "\r\n\r\n");
	http_reply(fd, body ? body + 4 : "");
}

int main(int argc, char **argv)
{
	backend_port = atoi(argv[2]);
	http_serve(atoi(argv[1]), handle);
}

// SPDX-License-Identifier: Apache-2.0
/*
 * search PORT BACKEND-PORT - pass each request on to a backend, as a header and a body in
 * two writes, without TCP_NODELAY.
 */
#include "http.h"

static int backend_port;

static int connect_backend(void)
{
	struct sockaddr_in address = http_address(backend_port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		http_die("connect");
	return fd;
}

static void handle(int fd, const char *path)
{
	static const char header[] = "GET /index HTTP/1.1\r\nHost: index\r\n";
	static const char body[] = "X-Query: thread\r\n\r\n";
	static __thread int backend;
	char reply[1024];

	if (!backend)
		backend = connect_backend();
	if (write(backend, header, sizeof(header) - 1) < 0 ||
	    write(backend, body, sizeof(body) - 1) < 0)
		http_die("write");
	if (read(backend, reply, sizeof(reply)) <= 0)
		http_die("read");
	http_reply(fd, "found\n");
}

int main(int argc, char **argv)
{
	backend_port = atoi(argv[2]);
	http_serve(atoi(argv[1]), handle);
}

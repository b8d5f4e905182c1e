// SPDX-License-Identifier: Apache-2.0
/* gate PORT BACKEND-PORT - at most two calls to a backend at a time, counted by a semaphore. */
#include <semaphore.h>
#include "http.h"

static int backend_port;
static sem_t permits;

static void call_backend(void)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: backend\r\n\r\n";
	static __thread int backend;
	char reply[1024];

	if (!backend)
		backend = http_connect(backend_port);
	if (write(backend, request, sizeof(request) - 1) < 0 ||
	    read(backend, reply, sizeof(reply)) <= 0)
		http_die("backend");
}

static void handle(int fd, const char *path)
{
	while (sem_wait(&permits) < 0)
		;
	call_backend();
	sem_post(&permits);
	http_reply(fd, "ok\n");
}

int main(int argc, char **argv)
{
	backend_port = atoi(argv[2]);
	sem_init(&permits, 0, 2);
	http_serve(atoi(argv[1]), handle);
}

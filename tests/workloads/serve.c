/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve - an echo server on loopback, for a client outside the recording.
 *
 *	serve PORT [WORKER]
 *
 * Listens on PORT (0: any), prints "ready PORT" on stdout, accepts one connection
 * and echoes until the client closes it.  The WORKER is the process itself (main), a
 * thread, or a child, which is started before the line is printed.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

static int listener;

static void *work(void *arg)
{
	struct track *receives = track_new("receive");
	struct track *sends = track_new("send");
	int connection = (int)must(accept(listener, NULL, NULL), "accept");
	char bytes[4096];
	ssize_t size;

	for (;;) {
		call_begin(receives);
		size = must(recv(connection, bytes, sizeof(bytes), 0), "recv");
		call_end(receives);
		if (!size)
			break;
		call_begin(sends);
		must(send(connection, bytes, (size_t)size, MSG_NOSIGNAL), "send");
		call_end(sends);
	}
	close(connection);
	return NULL;
}

static uint16_t open_listener(unsigned port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	socklen_t size = sizeof(at);
	int one = 1;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = (int)must(socket(AF_INET, SOCK_STREAM, 0), "socket");
	must(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), "setsockopt");
	must(bind(listener, (struct sockaddr *)&at, size), "bind");
	must(listen(listener, 1), "listen");
	must(getsockname(listener, (struct sockaddr *)&at, &size), "getsockname");
	return ntohs(at.sin_port);
}

static void say_ready(uint16_t port)
{
	printf("ready %d\n", port);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *worker = argc > 2 ? argv[2] : "main";
	pthread_t thread;

	truth_init("serve");
	uint16_t port = open_listener((unsigned)number_arg(argc, argv, 1, 0));
	if (strcmp(worker, "main") == 0) {
		say_ready(port);
		work(NULL);
	} else if (strcmp(worker, "thread") == 0) {
		must(-pthread_create(&thread, NULL, work, NULL), "pthread_create");
		say_ready(port);
		pthread_join(thread, NULL);
	} else {
		pid_t child = (pid_t)must(fork(), "fork");

		if (!child) {
			work(NULL);
			_exit(0);
		}
		say_ready(port);
		must(waitpid(child, NULL, 0), "waitpid");
	}
	truth_print();
	return 0;
}

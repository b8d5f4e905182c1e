/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turnover - threads, processes and connections that come and go, until killed.
 *
 *	turnover THREADS PROCESSES CONNECTIONS
 *
 * Each number is a rate per second.  A process has a name of its own, writes to a file of its own
 *and exits; a connection carries one request and its reply.  So everything that a recorder
 *describes turns over: tids, names, sockets and files.  Prints the counts on SIGTERM.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "truth.h"

#define SLICE_NS 10000000L /* each thing's share of a rate starts at once in each slice */
#define SLICES 100         /* per second */

static volatile sig_atomic_t is_over;
static unsigned long started[3];

static void on_signal(int number)
{
	is_over = 1;
}

static void *be_thread(void *arg)
{
	struct timespec moment = { .tv_nsec = 100000 };

	nanosleep(&moment, NULL);
	return NULL;
}

static void start_thread(unsigned long number)
{
	pthread_t thread;

	must(-pthread_create(&thread, NULL, be_thread, NULL), "thread");
	pthread_join(thread, NULL);
}

static void start_process(unsigned long number)
{
	pid_t pid = must(fork(), "fork");

	if (pid == 0) {
		char name[32];
		int fd;

		snprintf(name, sizeof(name), "leaf-%lu", number);
		prctl(PR_SET_NAME, name);
		snprintf(name, sizeof(name), "/tmp/turnover-%lu", number);
		fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		if (fd >= 0) {
			if (write(fd, name, sizeof(name)) < 0)
				_exit(1);
			unlink(name);
		}
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static struct sockaddr_in address;

/* Echo one byte per connection. */
static void *serve(void *arg)
{
	int listener = (int)(intptr_t)arg;

	for (;;) {
		char byte;
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			continue;
		if (read(fd, &byte, 1) == 1 && write(fd, &byte, 1) < 0)
			must(-1, "write");
		close(fd);
	}
	return NULL;
}

static void start_server(void)
{
	socklen_t size = sizeof(address);
	int fd = must(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
	pthread_t thread;

	address = (struct sockaddr_in){ .sin_family = AF_INET };
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(bind(fd, (struct sockaddr *)&address, sizeof(address)), "bind");
	must(listen(fd, 128), "listen");
	must(getsockname(fd, (struct sockaddr *)&address, &size), "getsockname");
	must(-pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd), "thread");
}

static void start_connection(unsigned long number)
{
	/* a reset leaves no socket in TIME-WAIT, of which there are at most as many as ports */
	struct linger reset = { .l_onoff = 1 };
	int fd = must(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
	char byte = 'x';

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	must(connect(fd, (struct sockaddr *)&address, sizeof(address)), "connect");
	if (write(fd, &byte, 1) == 1 && read(fd, &byte, 1) < 0)
		must(-1, "read");
	close(fd);
}

static void start_slice(unsigned long slice, const unsigned long *rates)
{
	static void (*const start[])(unsigned long) = { start_thread, start_process,
							start_connection };

	for (int kind = 0; kind < 3; kind++) {
		unsigned long due =
			(slice + 1) * rates[kind] / SLICES - slice * rates[kind] / SLICES;

		for (; due && !is_over; due--)
			start[kind](started[kind]++);
	}
}

int main(int argc, char **argv)
{
	unsigned long rates[3];
	struct timespec due;

	for (int i = 0; i < 3; i++)
		rates[i] = number_arg(argc, argv, i + 1, 100);
	signal(SIGTERM, on_signal);
	signal(SIGPIPE, SIG_IGN);
	start_server();
	clock_gettime(CLOCK_MONOTONIC, &due);
	for (unsigned long slice = 0; !is_over; slice++) {
		start_slice(slice, rates);
		due.tv_nsec += SLICE_NS;
		due.tv_sec += due.tv_nsec / 1000000000L;
		due.tv_nsec %= 1000000000L;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
	}
	printf("{\"threads\": %lu, \"processes\": %lu, \"connections\": %lu}\n", started[0],
	       started[1], started[2]);
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
/* Prices from an event loop, which writes them to a slow disk every 400 ms. */
#include "http.h"

#include <sys/epoll.h>

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void serve(int fd)
{
	char path[256];

	if (http_read(fd, path, sizeof(path)))
		http_reply(fd, "42\n");
	else
		close(fd);
}

int main(int argc, char **argv)
{
	int listener = http_listen(atoi(argv[1])), epoll = epoll_create1(EPOLL_CLOEXEC);
	double flushed = now_ms();

	watch(epoll, listener);
	for (;;) {
		struct epoll_event events[16];
		int n = epoll_wait(epoll, events, 16, 50);

		for (int i = 0; i < n; i++)
			if (events[i].data.fd == listener)
				watch(epoll, http_accept(listener));
			else
				serve(events[i].data.fd);
		if (now_ms() - flushed > 400) {
			sleep_ms(100); /* the disk */
			flushed = now_ms();
		}
	}
}

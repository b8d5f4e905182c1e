// SPDX-License-Identifier: Apache-2.0
/*
 * relay PORT TARGET-PORT MS - pass data on between clients and a target, from clients to the target
 * only after MS: an event loop with timeouts.
 */
#include <poll.h>
#include "http.h"

#define LINKS 64
#define CHUNK 4096

struct link {
	int client, target;
	double due; /* ms, 0 if no data is held */
	char data[CHUNK];
	size_t size;
};

static struct link links[LINKS];
static int link_count;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static int release_due(void)
{
	double now = now_ms(), wait = -1;

	for (int i = 0; i < link_count; i++) {
		struct link *l = &links[i];

		if (!l->due)
			continue;
		if (l->due > now) {
			wait = wait < 0 || l->due - now < wait ? l->due - now : wait;
			continue;
		}
		if (write(l->target, l->data, l->size) < 0)
			http_die("write");
		l->due = 0;
	}
	return wait < 0 ? -1 : (int)wait + 1;
}

static void pass_on(struct link *l, short client, short target, double delay)
{
	char reply[CHUNK];
	ssize_t n;

	if (client & POLLIN) {
		n = read(l->client, l->data, sizeof(l->data));
		l->size = n > 0 ? n : 0;
		l->due = n > 0 ? now_ms() + delay : 0;
		if (n <= 0) {
			close(l->client);
			l->client = -1;
		}
	}
	if (target & POLLIN) {
		n = read(l->target, reply, sizeof(reply));
		if (n > 0 && write(l->client, reply, n) < 0)
			http_die("write");
	}
}

int main(int argc, char **argv)
{
	int listener = http_listen(atoi(argv[1]));

	for (;;) {
		struct pollfd fds[1 + 2 * LINKS] = { { .fd = listener, .events = POLLIN } };
		int wait = release_due();

		for (int i = 0; i < link_count; i++) {
			fds[1 + 2 * i] = (struct pollfd){ .fd = links[i].client, .events = POLLIN };
			fds[2 + 2 * i] = (struct pollfd){ .fd = links[i].target, .events = POLLIN };
		}
		poll(fds, 1 + 2 * link_count, wait);
		for (int i = 0; i < link_count; i++)
			pass_on(&links[i], fds[1 + 2 * i].revents, fds[2 + 2 * i].revents,
				atof(argv[3]));
		if (fds[0].revents && link_count < LINKS) {
			links[link_count].client = http_accept(listener);
			links[link_count++].target = http_connect(atoi(argv[2]));
		}
	}
}

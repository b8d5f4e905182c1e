// SPDX-License-Identifier: Apache-2.0
/*
 * load - the client of the fault lab: drives a service and measures latency from outside.
 *
 * Each connection sends its request, reads the reply, pauses for an exponentially distributed
 * time, and starts again.  A line per request: connection, send time and latency in nanoseconds
 * of CLOCK_MONOTONIC.  With -c, each request has a connection of its own, and its latency starts
 * before connect().
 *
 * The client is a measuring instrument: it runs at real-time priority, if permitted, so that its
 * own wait for a CPU is not part of the latency.
 *
 * usage: load [-c] [-n CONNECTIONS] [-p PAUSE_MS] [-s SECONDS] [-r BYTES] PORT REQUEST...
 * Connection i sends REQUEST i modulo their number; `\r` and `\n` in it are escapes.  A reply is
 * of HTTP, or of a fixed number of BYTES.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HEADER_MAX 8192
#define PATIENCE 10 /* seconds for the last replies */
#define LAST_CHUNK "\r\n0\r\n\r\n"

enum state { PAUSED, CONNECTING, AWAITING };

struct connection {
	int fd;
	enum state state;
	const char *request;
	uint64_t due, sent_at; /* ns */
	char header[HEADER_MAX + 1];
	size_t received;
	size_t length; /* of the reply, 0 while unknown */
	bool chunked;
	char tail[sizeof(LAST_CHUNK)];
};

static struct {
	bool reconnect;
	int connections;
	double pause_ms, seconds;
	size_t reply_bytes;
	uint16_t port;
	int epoll;
} load = { .connections = 1, .seconds = 5 };

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void watch(struct connection *c, int op, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = c };

	if (epoll_ctl(load.epoll, op, c->fd, &event) < 0)
		fail("load: epoll_ctl");
}

static void start_connect(struct connection *c)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(load.port) };
	int yes = 1;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		fail("load: socket");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	c->sent_at = now();
	if (connect(c->fd, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINPROGRESS)
		fail("load: connect");
	c->state = CONNECTING;
	watch(c, EPOLL_CTL_ADD, EPOLLOUT);
}

static void send_request(struct connection *c)
{
	size_t size = strlen(c->request);

	c->received = c->length = 0;
	c->chunked = false;
	memset(c->tail, 0, sizeof(c->tail));
	if (!load.reconnect)
		c->sent_at = now();
	if (send(c->fd, c->request, size, MSG_NOSIGNAL) != (ssize_t)size)
		fail("load: send");
	c->state = AWAITING;
}

static void pause_connection(struct connection *c)
{
	double share = (random() + 1.0) / (RAND_MAX + 2.0);

	c->due = now() + (uint64_t)(-log(share) * load.pause_ms * 1e6);
	c->state = PAUSED;
}

static void finish(struct connection *c, bool ok, int index)
{
	uint64_t end = now();

	if (ok)
		printf("%d %lu %lu\n", index, c->sent_at, end - c->sent_at);
	else
		fprintf(stderr, "load: connection %d was closed before its reply\n", index);
	if (load.reconnect || !ok) {
		close(c->fd);
		c->fd = -1;
	}
	pause_connection(c);
}

/* Find the length of a reply in its header, once the header is complete. */
static void read_header(struct connection *c)
{
	char *end = strstr(c->header, "\r\n\r\n"), *field;

	if (!end)
		return;
	field = strcasestr(c->header, "\r\nContent-Length:");
	if (field && field < end)
		c->length = end + 4 - c->header + strtoul(field + 17, NULL, 10);
	field = strcasestr(c->header, "\r\nTransfer-Encoding: chunked");
	c->chunked = field && field < end;
}

static void keep_tail(struct connection *c, const char *data, size_t size)
{
	size_t room = sizeof(c->tail) - 1;

	if (size >= room) {
		memcpy(c->tail, data + size - room, room);
		return;
	}
	memmove(c->tail, c->tail + size, room - size);
	memcpy(c->tail + room - size, data, size);
}

static bool is_complete(const struct connection *c)
{
	if (c->chunked)
		return memcmp(c->tail, LAST_CHUNK, sizeof(LAST_CHUNK) - 1) == 0;
	return c->length && c->received >= c->length;
}

/* Take in a part of a reply; whether the reply is complete. */
static bool take_in(struct connection *c, const char *data, size_t size)
{
	if (load.reply_bytes) {
		c->length = load.reply_bytes;
	} else if (!c->length && !c->chunked && c->received < HEADER_MAX) {
		size_t room = HEADER_MAX - c->received, part = size < room ? size : room;

		memcpy(c->header + c->received, data, part);
		c->header[c->received + part] = '\0';
		read_header(c);
	}
	keep_tail(c, data, size);
	c->received += size;
	return is_complete(c);
}

static void receive(struct connection *c, int index)
{
	static char buffer[1 << 16];
	ssize_t n = recv(c->fd, buffer, sizeof(buffer), 0);

	if (n < 0 && errno == EAGAIN)
		return;
	if (c->state != AWAITING) { /* closed between requests */
		close(c->fd);
		c->fd = -1;
		return;
	}
	/* A reply without a length ends with its connection. */
	if (n <= 0)
		finish(c, n == 0 && c->received && !c->length && !c->chunked, index);
	else if (take_in(c, buffer, n))
		finish(c, true, index);
}

/* Start the requests that are due; returns the time until the next one in ms, -1 if none. */
static int start_due(struct connection *all, bool ending)
{
	uint64_t t = now(), next = UINT64_MAX;

	for (int i = 0; i < load.connections && !ending; i++) {
		struct connection *c = &all[i];

		if (c->state != PAUSED)
			continue;
		if (c->due > t) {
			next = c->due < next ? c->due : next;
		} else if (c->fd < 0) {
			start_connect(c);
		} else {
			send_request(c);
		}
	}
	return next == UINT64_MAX ? -1 : (int)((next - t) / 1000000 + 1);
}

static bool any_active(const struct connection *all)
{
	for (int i = 0; i < load.connections; i++)
		if (all[i].state != PAUSED)
			return true;
	return false;
}

static void handle(struct connection *all, const struct epoll_event *event)
{
	struct connection *c = event->data.ptr;
	int index = c - all;

	if (c->state == CONNECTING) {
		watch(c, EPOLL_CTL_MOD, EPOLLIN);
		send_request(c);
	} else {
		receive(c, index);
	}
}

static void run(struct connection *all)
{
	uint64_t end = now() + (uint64_t)(load.seconds * 1e9);

	for (uint64_t t = now(); t < end + PATIENCE * 1000000000ull; t = now()) {
		struct epoll_event events[64];
		int wait = start_due(all, t >= end), n;

		if (t >= end && !any_active(all))
			return;
		n = epoll_wait(load.epoll, events, 64, wait < 0 || wait > 100 ? 100 : wait);
		for (int i = 0; i < n; i++)
			handle(all, &events[i]);
	}
	fprintf(stderr, "load: replies are missing\n");
}

static char *unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++)
		if (from[0] == '\\' && (from[1] == 'r' || from[1] == 'n'))
			*to++ = *++from == 'r' ? '\r' : '\n';
		else
			*to++ = *from;
	*to = '\0';
	return text;
}

static void parse(int argc, char **argv)
{
	for (int opt; (opt = getopt(argc, argv, "cn:p:s:r:")) != -1;) {
		switch (opt) {
		case 'c':
			load.reconnect = true;
			break;
		case 'n':
			load.connections = atoi(optarg);
			break;
		case 'p':
			load.pause_ms = atof(optarg);
			break;
		case 's':
			load.seconds = atof(optarg);
			break;
		case 'r':
			load.reply_bytes = strtoul(optarg, NULL, 10);
			break;
		default:
			exit(2);
		}
	}
	if (argc - optind < 2 || load.connections < 1) {
		fprintf(stderr, "usage: load [OPTION]... PORT REQUEST...\n");
		exit(2);
	}
	load.port = atoi(argv[optind++]);
}

int main(int argc, char **argv)
{
	struct sched_param priority = { .sched_priority = 1 };
	struct connection *all;

	parse(argc, argv);
	srandom(1);
	sched_setscheduler(0, SCHED_FIFO, &priority);
	load.epoll = epoll_create1(EPOLL_CLOEXEC);
	all = calloc(load.connections, sizeof(*all));
	for (int i = 0; i < load.connections; i++) {
		all[i].fd = -1;
		all[i].request = argv[optind + i % (argc - optind)];
	}
	for (int i = optind; i < argc; i++)
		unescape(argv[i]);
	for (int i = 0; i < load.connections; i++)
		pause_connection(&all[i]);
	run(all);
	free(all);
	return 0;
}

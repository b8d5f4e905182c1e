/* SPDX-License-Identifier: Apache-2.0 */
#include "net.h"

#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"

#define LIFE_SECONDS 60

void live_briefly(void)
{
	const char *life = getenv("DEMO_LIFE");
	pid_t parent = getppid();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* the parent exited before prctl() */
		exit(EXIT_FAILURE);
	signal(SIGPIPE, SIG_IGN); /* peer_write() returns the error */
	alarm(life ? (unsigned)atoi(life) : LIFE_SECONDS);
}

void service_init(const char *name)
{
	live_briefly();
	faults_init(getenv("DEMO_FAULTS"), name, ".");
}

/* A port of the address in a variable of the environment, or else of 127.0.0.1. */
static struct sockaddr_in address_of(const char *variable, int port)
{
	const char *host = getenv(variable);

	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = host ? inet_addr(host) : htonl(INADDR_LOOPBACK),
	};
}

/* Write a temporary file and rename it, so that a reader finds the complete number. */
static void write_port(const char *path, int port)
{
	char draft[256];
	FILE *file;

	snprintf(draft, sizeof(draft), "%s.draft", path);
	file = fopen(draft, "w");
	if (!file || fprintf(file, "%d\n", port) < 0 || fclose(file) || rename(draft, path))
		err(EXIT_FAILURE, "cannot write '%s'", path);
}

int listen_on_free_port(const char *port_file)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
	const char *port = getenv("DEMO_PORT");
	struct sockaddr_in address = address_of("DEMO_LISTEN", port ? atoi(port) : 0);
	socklen_t size = sizeof(address);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
	    bind(fd, (struct sockaddr *)&address, size) || listen(fd, 64) ||
	    getsockname(fd, (struct sockaddr *)&address, &size))
		err(EXIT_FAILURE, "cannot listen");
	write_port(port_file, ntohs(address.sin_port));
	return fd;
}

static void peer_init(struct peer *peer, int fd)
{
	peer->fd = fd;
	peer->in = fdopen(fd, "r");
	if (!peer->in)
		err(EXIT_FAILURE, "cannot use a connection");
}

void peer_accept(struct peer *peer, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		err(EXIT_FAILURE, "cannot accept a connection");
	peer_init(peer, fd);
}

void peer_connect(struct peer *peer, const char *port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in address = address_of("DEMO_CALLS", atoi(port));

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		err(EXIT_FAILURE, "cannot connect to port %s", port);
	peer_init(peer, fd);
}

void peer_close(struct peer *peer)
{
	fclose(peer->in);
}

bool peer_read(struct peer *peer)
{
	char *tab;

	if (!fgets(peer->line, sizeof(peer->line), peer->in))
		return false;
	peer->line[strcspn(peer->line, "\n")] = '\0';
	tab = strchr(peer->line, '\t');
	peer->trace = tab ? tab + 1 : NULL;
	if (tab)
		*tab = '\0';
	return true;
}

bool peer_write(struct peer *peer, const char *fmt, ...)
{
	va_list args;
	int written;

	va_start(args, fmt);
	written = vdprintf(peer->fd, fmt, args);
	va_end(args);
	return written >= 0;
}

struct connection {
	struct peer peer;
	const char *name;
	int number;
	reply_fn *reply;
	void *service; /* borrowed */
};

static void *serve_connection(void *arg)
{
	struct connection *c = arg;

	name_thread(c->name, c->number);
	while (peer_read(&c->peer))
		c->reply(&c->peer, c->service);
	peer_close(&c->peer);
	free(c);
	return NULL;
}

void serve(int listener, const char *name, reply_fn *reply, void *service)
{
	for (int number = 1;; number++) {
		struct connection *c = malloc(sizeof(*c));
		pthread_t thread;

		if (!c)
			err(EXIT_FAILURE, "cannot allocate memory");
		*c = (struct connection){
			.name = name, .number = number, .reply = reply, .service = service
		};
		peer_accept(&c->peer, listener);
		if (pthread_create(&thread, NULL, serve_connection, c))
			errx(EXIT_FAILURE, "cannot start a thread");
		pthread_detach(thread);
	}
}

void name_thread(const char *name, int number)
{
	char text[16]; /* the limit of the kernel */

	snprintf(text, sizeof(text), "%s/%d", name, number);
	pthread_setname_np(pthread_self(), text);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t wall_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

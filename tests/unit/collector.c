/* SPDX-License-Identifier: Apache-2.0 */
#include "collector.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#include "test.h"

struct answer collector_take(struct collector *c, struct collected *request)
{
	struct answer answer = { 0 };

	pthread_mutex_lock(&c->lock);
	if (c->answer)
		answer = c->answer(c->arg, c->requests.count, request);
	*vec_push(&c->requests) = *request;
	pthread_mutex_unlock(&c->lock);
	nanosleep(&(struct timespec){ answer.delay / 1000, answer.delay % 1000 * 1000000l }, NULL);
	return answer;
}

static bool read_all(int fd, void *to, size_t size)
{
	for (size_t used = 0; used < size;) {
		ssize_t n = recv(fd, (char *)to + used, size - used, 0);

		if (n <= 0)
			return false;
		used += n;
	}
	return true;
}

/* Up to the empty line; byte by byte, as what follows belongs to the body. */
static char *read_head(int fd)
{
	size_t used = 0, room = 64 << 10;
	char *head = must_alloc(room + 1);

	while (used < room && recv(fd, head + used, 1, 0) == 1) {
		used++;
		if (used >= 4 && memcmp(head + used - 4, "\r\n\r\n", 4) == 0)
			return head;
	}
	free(head);
	return NULL;
}

static void send_answer(int fd, const struct answer *a)
{
	_cleanup_(freep) char *head =
		must_printf("HTTP/1.1 %u Status\r\n%sContent-Length: %zu\r\n\r\n",
			    a->status ? a->status : 200, a->headers ? a->headers : "", a->size);

	send(fd, head, strlen(head), MSG_NOSIGNAL | (a->size ? MSG_MORE : 0));
	if (a->size)
		send(fd, a->body, a->size, MSG_NOSIGNAL);
}

static void serve_http(struct collector *c, int fd)
{
	for (char *head; (head = read_head(fd));) {
		const char *length = strcasestr(head, "\r\nContent-Length:");
		struct collected request = { .head = head };

		request.body.size = length ? strtoul(length + 17, NULL, 10) : 0;
		request.body.data = must_alloc(request.body.size + 1);
		if (!read_all(fd, request.body.data, request.body.size)) {
			pb_buffer_done(&request.body);
			free(head);
			return;
		}

		struct answer answer = collector_take(c, &request);

		if (answer.reset) {
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 },
				   sizeof(struct linger));
			return;
		}
		send_answer(fd, &answer);
	}
}

struct connection {
	struct collector *collector;
	int fd;
	size_t index;
};

static void *serve(void *arg)
{
	struct connection *x = arg;
	struct collector *c = x->collector;

	if (c->is_grpc)
		collector_serve_grpc(c, x->fd);
	else
		serve_http(c, x->fd);
	pthread_mutex_lock(&c->lock);
	c->clients.items[x->index] = -1;
	pthread_mutex_unlock(&c->lock);
	close(x->fd);
	free(x);
	return NULL;
}

static void *accept_all(void *arg)
{
	struct collector *c = arg;

	for (int fd; (fd = accept(c->fd, NULL, NULL)) >= 0;) {
		struct connection *x = must_alloc(sizeof(*x));

		/* a reply is several writes */
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
		pthread_mutex_lock(&c->lock);
		*x = (struct connection){ c, fd, c->clients.count };
		*vec_push(&c->clients) = fd;
		c->connections++;
		pthread_create(vec_push(&c->threads), NULL, serve, x);
		pthread_mutex_unlock(&c->lock);
	}
	return NULL;
}

void collector_start(struct collector *c, bool is_grpc, unsigned port, answer_fn *answer, void *arg)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(a);

	*c = (struct collector){ .is_grpc = is_grpc, .answer = answer, .arg = arg };
	pthread_mutex_init(&c->lock, NULL);
	c->fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(c->fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	CHECK_INT(bind(c->fd, (struct sockaddr *)&a, len), 0);
	CHECK_INT(listen(c->fd, 16), 0);
	getsockname(c->fd, (struct sockaddr *)&a, &len);
	c->port = ntohs(a.sin_port);
	snprintf(c->url, sizeof(c->url), "http://127.0.0.1:%u", c->port);
	pthread_create(&c->thread, NULL, accept_all, c);
}

void collector_stop(struct collector *c)
{
	if (c->fd < 0)
		return;
	shutdown(c->fd, SHUT_RDWR);
	pthread_join(c->thread, NULL);
	close(c->fd);
	c->fd = -1;
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->clients.count; i++)
		if (c->clients.items[i] >= 0)
			shutdown(c->clients.items[i], SHUT_RDWR);
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 0; i < c->threads.count; i++)
		pthread_join(c->threads.items[i], NULL);
	vec_done(&c->threads);
	vec_done(&c->clients);
}

void collector_done(struct collector *c)
{
	collector_stop(c);
	for (size_t i = 0; i < c->requests.count; i++) {
		free(c->requests.items[i].head);
		pb_buffer_done(&c->requests.items[i].body);
	}
	vec_done(&c->requests);
}

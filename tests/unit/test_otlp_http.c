/* SPDX-License-Identifier: Apache-2.0 */
/* A collector of our own on the loopback interface, in a thread. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "otlp/http.h"
#include "test.h"

struct collector {
	int fd;
	const char *const *replies; /* one per connection */
	size_t count;
	char first[16 << 10]; /* the last request */
	pthread_t thread;
	char url[64];
};

/* Reads a request with a body of "spans". */
static void read_request(struct collector *c, int fd)
{
	size_t used = 0;
	ssize_t n;

	memset(c->first, 0, sizeof(c->first));
	while (!strstr(c->first, "\r\n\r\nspans") &&
	       (n = recv(fd, c->first + used, sizeof(c->first) - 1 - used, 0)) > 0)
		used += n;
}

static void *serve(void *arg)
{
	struct collector *c = arg;

	for (size_t i = 0; i < c->count; i++) {
		int fd = accept(c->fd, NULL, NULL);

		read_request(c, fd);
		send(fd, c->replies[i], strlen(c->replies[i]), MSG_NOSIGNAL);
		close(fd);
	}
	return NULL;
}

static void start(struct collector *c, const char *const *replies, size_t count)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(a);

	*c = (struct collector){ .fd = socket(AF_INET, SOCK_STREAM, 0),
				 .replies = replies,
				 .count = count };
	CHECK_INT(bind(c->fd, (struct sockaddr *)&a, len), 0);
	CHECK_INT(listen(c->fd, 4), 0);
	getsockname(c->fd, (struct sockaddr *)&a, &len);
	snprintf(c->url, sizeof(c->url), "http://127.0.0.1:%u", ntohs(a.sin_port));
	pthread_create(&c->thread, NULL, serve, c);
}

static int post(struct collector *c, struct err *err)
{
	struct otlp_target target;
	int r = otlp_target_parse(c->url, &target, err);

	CHECK_INT(r, 0);
	r = otlp_http_post(&target, (struct view){ "spans", 5 }, err);
	pthread_join(c->thread, NULL);
	close(c->fd);
	return r;
}

TEST(a_request_is_posted_as_protobuf)
{
	static const char *const replies[] = { "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" };
	struct collector c;
	struct err err = { "" };

	start(&c, replies, 1);
	CHECK_INT(post(&c, &err), 0);
	CHECK(strncmp(c.first, "POST /v1/traces HTTP/1.1\r\n", 26) == 0);
	CHECK(strstr(c.first, "\r\nContent-Type: application/x-protobuf\r\n"));
	CHECK(strstr(c.first, "\r\nContent-Length: 5\r\n"));
	CHECK(strstr(c.first, "\r\n\r\nspans"));
}

TEST(an_overloaded_collector_gets_the_request_again)
{
	static const char *const replies[] = {
		"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n\r\n",
		"HTTP/1.1 200 OK\r\n\r\n"
	};
	struct collector c;
	struct err err = { "" };

	start(&c, replies, 2);
	CHECK_INT(post(&c, &err), 0);
}

TEST(the_message_of_a_collector_is_reported)
{
	static const char *const replies[] = {
		"HTTP/1.1 400 Bad Request\r\n\r\n\x08\x03no such \x1b[31mtenant"
	};
	struct collector c;
	struct err err = { "" };

	start(&c, replies, 1);
	CHECK_INT(post(&c, &err), -EREMOTEIO);
	CHECK(strstr(err.text, "400 no such [31mtenant"));
}

TEST(a_reply_that_is_not_http_is_an_error)
{
	static const char *const replies[] = { "SSH-2.0-OpenSSH_9.2\r\n" };
	struct collector c;
	struct err err = { "" };

	start(&c, replies, 1);
	CHECK_INT(post(&c, &err), -EPROTO);
}

TEST(addresses_have_defaults)
{
	struct otlp_target t;
	struct err err;

	CHECK_INT(otlp_target_parse("http://collector", &t, &err), 0);
	CHECK_STR(t.host, "collector");
	CHECK_STR(t.port, "4318");
	CHECK_STR(t.path, "/v1/traces");
	CHECK_INT(otlp_target_parse("http://[::1]:80/otlp/v1/traces", &t, &err), 0);
	CHECK_STR(t.host, "::1");
	CHECK_STR(t.port, "80");
	CHECK_STR(t.path, "/otlp/v1/traces");
	CHECK_INT(otlp_target_parse("http://localhost:4318/", &t, &err), 0);
	CHECK_STR(t.path, "/v1/traces");
}

TEST(bad_addresses_are_errors)
{
	static const char *const bad[] = { "http://",         "http://:80",          "http://a:",
					   "http://[::1",     "http://[::1]x",       "https://a",
					   "http://a/b\r\nX", "http://a:99999999999" };
	struct otlp_target t;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		CHECK_INT(otlp_target_parse(bad[i], &t, &err), -EINVAL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "otlp/http.h"

#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

enum { ATTEMPTS = 6, SECONDS = 30, REPLY_MAX = 64 << 10 };

/* A reply of the collector; the body is cut off after `text`. */
struct otlp_reply {
	unsigned int status;
	unsigned int retry_after; /* seconds; 0 if unknown */
	char text[200];
};

static bool copy_part(char *ret, size_t room, const char *from, size_t len)
{
	if (len == 0 || len >= room)
		return false;
	memcpy(ret, from, len);
	ret[len] = '\0';
	return true;
}

/* Headers must not be extended by a path or host with control characters. */
static bool is_clean(const char *s)
{
	for (; *s; s++)
		if (!isgraph((unsigned char)*s))
			return false;
	return true;
}

int otlp_target_parse(const char *url, struct otlp_target *ret, struct err *err)
{
	static const char scheme[] = "http://";
	struct otlp_target t = { .port = "4318", .path = "/v1/traces" };
	const char *host = url + strlen(scheme), *end, *path;
	bool is_ok = strncmp(url, scheme, strlen(scheme)) == 0 && is_clean(url);

	if (strncmp(url, "https://", 8) == 0)
		return err_set(err, -EINVAL,
			       "cannot send to '%s': https is not supported; send to a collector "
			       "on this host, such as http://localhost:4318",
			       url);
	if (is_ok) {
		bool bracket = *host == '[';

		host += bracket;
		end = host + strcspn(host, bracket ? "]" : ":/");
		is_ok = copy_part(t.host, sizeof(t.host), host, end - host) &&
			(!bracket || *end++ == ']');
		path = is_ok ? end + strcspn(end, "/") : end;
		if (is_ok && *end == ':')
			is_ok = copy_part(t.port, sizeof(t.port), end + 1, path - end - 1);
		else if (is_ok)
			is_ok = path == end;
		if (is_ok && path[0] && path[1])
			is_ok = copy_part(t.path, sizeof(t.path), path, strlen(path));
	}
	if (!is_ok)
		return err_set(err, -EINVAL,
			       "cannot send to '%s': not an address such as http://HOST:4318", url);
	*ret = t;
	return 0;
}

static int connect_to(const struct otlp_target *t, struct err *err)
{
	const struct timeval limit = { .tv_sec = SECONDS };
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *all = NULL;
	int r = getaddrinfo(t->host, t->port, &hints, &all), fd = -1, failure = 0;

	if (r != 0)
		return err_set(err, -EHOSTUNREACH, "cannot find host '%s': %s", t->host,
			       gai_strerror(r));
	for (const struct addrinfo *a = all; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		if (fd < 0) {
			failure = errno;
			continue;
		}
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		if (connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
			failure = errno;
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(all);
	if (fd < 0)
		return err_set(err, -failure, "cannot connect to '%s' port %s: %s", t->host,
			       t->port, strerror(failure));
	return fd;
}

static int send_all(int fd, const char *s, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, s, len, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return -errno;
		s += n > 0 ? n : 0;
		len -= n > 0 ? n : 0;
	}
	return 0;
}

/* Reads up to the end of the connection. */
static ssize_t receive_all(int fd, char *buf, size_t room)
{
	size_t used = 0;
	ssize_t n;

	while (used < room) {
		n = recv(fd, buf + used, room - used, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 && !used ? -errno : (ssize_t)used;
		used += n;
	}
	return used;
}

/* Printable characters of the body, which can be text, JSON or protobuf. */
static void copy_text(char *ret, size_t room, const char *body)
{
	size_t used = 0;

	for (; *body && used + 1 < room; body++)
		if (isprint((unsigned char)*body))
			ret[used++] = *body;
	ret[used] = '\0';
}

static bool parse_reply(char *text, struct otlp_reply *ret)
{
	char *body = strstr(text, "\r\n\r\n"), *after;

	if (sscanf(text, "HTTP/1.%*1[01] %3u", &ret->status) != 1)
		return false;
	if (body) {
		*body = '\0';
		copy_text(ret->text, sizeof(ret->text), body + 4);
	}
	after = strcasestr(text, "\r\nRetry-After:");
	ret->retry_after = after ? strtoul(strchr(after + 2, ':') + 1, NULL, 10) : 0;
	return true;
}

static int post_once(const struct otlp_target *t, struct view request, struct otlp_reply *ret,
		     struct err *err)
{
	bool is_v6 = strchr(t->host, ':');
	_cleanup_(freep) char *head = must_printf(
		"POST %s HTTP/1.1\r\nHost: %s%s%s:%s\r\nUser-Agent: sonde/" SONDE_VERSION "\r\n"
		"Content-Type: application/x-protobuf\r\nContent-Length: %zu\r\n"
		"Connection: close\r\n\r\n",
		t->path, is_v6 ? "[" : "", t->host, is_v6 ? "]" : "", t->port, request.len);
	_cleanup_(freep) char *text = must_alloc(REPLY_MAX + 1);
	_cleanup_(closep) int fd = connect_to(t, err);
	ssize_t n;
	int r;

	if (fd < 0)
		return fd;
	/* a collector that rejects a request replies before it has read all of it */
	r = send_all(fd, head, strlen(head));
	if (r == 0)
		r = send_all(fd, request.s, request.len);
	n = receive_all(fd, text, REPLY_MAX);
	if (n <= 0)
		return err_set(err,
			       r < 0   ? r
			       : n < 0 ? (int)n
				       : -ECONNRESET,
			       "cannot send spans to '%s' port %s: %s", t->host, t->port,
			       r < 0   ? strerror(-r)
			       : n < 0 ? strerror(-n)
				       : "connection closed without a reply");
	text[n] = '\0';
	if (!parse_reply(text, ret))
		return err_set(err, -EPROTO, "'%s' port %s does not speak HTTP", t->host, t->port);
	return 0;
}

static bool is_overloaded(unsigned int status)
{
	return status == 429 || status == 502 || status == 503 || status == 504;
}

int otlp_http_post(const struct otlp_target *target, struct view request, struct err *err)
{
	struct otlp_reply reply = { 0 };
	unsigned int delay = 1;

	for (int attempt = 1;; attempt++) {
		int r = post_once(target, request, &reply, err);

		if (r < 0)
			return r;
		if (reply.status / 100 == 2)
			return 0;
		if (!is_overloaded(reply.status) || attempt == ATTEMPTS)
			break;
		if (reply.retry_after)
			delay = reply.retry_after < SECONDS ? reply.retry_after : SECONDS;
		nanosleep(&(struct timespec){ .tv_sec = delay }, NULL);
		delay *= 2;
	}
	return err_set(err, -EREMOTEIO, "the collector at '%s' port %s rejects the spans: %u %s",
		       target->host, target->port, reply.status, reply.text);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "wire.h"

#define HEAD_END "\r\n\r\n"

/* The end of an HTTP header, after its empty line; NULL if it is incomplete. */
static const char *head_end(const char *buf, size_t used)
{
	const char *end = memmem(buf, used, HEAD_END, strlen(HEAD_END));

	return end ? end + strlen(HEAD_END) : NULL;
}

static bool head_contains(const char *buf, const char *end, const char *words)
{
	return memmem(buf, (size_t)(end - buf), words, strlen(words)) != NULL;
}

static size_t http_format_call(const struct call_head *q, char *buf, size_t room)
{
	return (size_t)snprintf(buf, room, "GET /%s/%s HTTP/1.1\r\nHost: bed\r\n%s\r\n", q->id,
				q->hop, q->close ? "Connection: close\r\n" : "");
}

static size_t http_reply_size(const char *buf, size_t used)
{
	static const char length[] = "Content-Length: ";
	const char *end = head_end(buf, used);

	if (!end)
		return 0;

	const char *at = memmem(buf, (size_t)(end - buf), length, strlen(length));
	errno = EPROTO;
	if (!at || strncmp(buf + strlen("HTTP/1.1 "), "200", 3) != 0)
		die("unexpected reply: %.*s", (int)(end - buf), buf);

	size_t whole = (size_t)(end - buf) + strtoul(at + strlen(length), NULL, 10);
	return whole <= used ? whole : 0;
}

size_t http_request(const char *buf, size_t used, struct http_call *ret)
{
	const char *end = head_end(buf, used);

	if (!end)
		return 0;
	errno = EPROTO;
	if (sscanf(buf, "GET /%23[^/ ]/%31[^/ ] HTTP/1.", ret->id, ret->hop) != 2)
		die("unexpected request: %.*s", (int)(end - buf), buf);
	ret->close = head_contains(buf, end, " HTTP/1.0\r\n") ||
		     head_contains(buf, end, "Connection: close\r\n");
	return (size_t)(end - buf);
}

size_t http_format_reply(char *buf, size_t room, size_t body, bool close)
{
	size_t head =
		(size_t)snprintf(buf, room, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n%s\r\n",
				 body, close ? "Connection: close\r\n" : "");

	errno = ENOSPC;
	if (head + body > room)
		die("no room for a reply of %zu bytes", body);
	memset(buf + head, 'x', body);
	return head + body;
}

const struct wire wire_http = { .name = "http",
				.format_call = http_format_call,
				.reply_size = http_reply_size };

static size_t redis_format_call(const struct call_head *q, char *buf, size_t room)
{
	return (size_t)snprintf(buf, room, "*3\r\n$3\r\nSET\r\n$%zu\r\nbed:%s\r\n$1\r\nx\r\n",
				strlen("bed:") + strlen(q->id), q->id);
}

static size_t redis_reply_size(const char *buf, size_t used)
{
	const char *end = memmem(buf, used, "\r\n", 2);

	errno = EPROTO;
	if (end && buf[0] != '+')
		die("redis: %.*s", (int)(end - buf), buf);
	return end ? (size_t)(end - buf) + 2 : 0;
}

const struct wire wire_redis = { .name = "redis",
				 .format_call = redis_format_call,
				 .reply_size = redis_reply_size };

static uint32_t number_at(const char *at)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return ntohl(n);
}

static void put_number(char *at, uint32_t n)
{
	n = htonl(n);
	memcpy(at, &n, sizeof(n));
}

/* The protocol version, then NUL-terminated names and values. */
static size_t postgres_format_handshake(char *buf, size_t room)
{
	static const char settings[] = "user\0bed\0database\0postgres\0";
	uint32_t size = 2 * sizeof(uint32_t) + sizeof(settings);

	put_number(buf, size);
	put_number(buf + sizeof(uint32_t), 3 << 16);
	memcpy(buf + 2 * sizeof(uint32_t), settings, sizeof(settings));
	return size;
}

/* A letter, the size of the rest including itself, the rest. */
static size_t postgres_format_call(const struct call_head *q, char *buf, size_t room)
{
	int text = snprintf(buf + 5, room - 5, "SELECT '%s'", q->id) + 1;

	buf[0] = 'Q';
	put_number(buf + 1, (uint32_t)text + 4);
	return (size_t)text + 5;
}

/* A complete message of this kind, or NULL; *ret_size includes its letter. */
static const char *postgres_find(const char *buf, size_t used, char kind, size_t *ret_size)
{
	for (size_t at = 0; used - at >= 5;) {
		size_t size = 1 + number_at(buf + at + 1);

		errno = EPROTO;
		if (buf[at] == 'E')
			die("PostgreSQL refuses: %.*s", (int)(used - at - 5), buf + at + 5);
		if (size > used - at)
			return NULL;
		if (buf[at] == kind) {
			*ret_size = size;
			return buf + at;
		}
		at += size;
	}
	return NULL;
}

/* A reply ends with ReadyForQuery. */
static size_t postgres_reply_size(const char *buf, size_t used)
{
	size_t size;
	const char *ready = postgres_find(buf, used, 'Z', &size);

	return ready ? (size_t)(ready - buf) + size : 0;
}

static uint32_t postgres_server(const char *buf, size_t used)
{
	size_t size;
	const char *key = postgres_find(buf, used, 'K', &size);

	return key ? number_at(key + 5) : 0;
}

const struct wire wire_postgres = {
	.name = "postgres",
	.format_handshake = postgres_format_handshake,
	.format_call = postgres_format_call,
	.reply_size = postgres_reply_size,
	.server = postgres_server,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink - an OTLP/HTTP collector that discards what it accepts, at the least cost.
 *
 * There is one thread per connection.  Bodies must have a Content-Length.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve.h"

enum { HEADERS_MAX = 8 << 10 };

/* Read up to the end of the headers; returns their size, 0 at the end of the connection. */
static size_t read_headers(int fd, char *text, size_t *used)
{
	for (;;) {
		char *end = memmem(text, *used, "\r\n\r\n", 4);

		if (end)
			return (size_t)(end + 4 - text);
		if (*used == HEADERS_MAX)
			return 0;

		ssize_t n = read(fd, text + *used, HEADERS_MAX - *used);

		if (n <= 0)
			return 0;
		*used += (size_t)n;
	}
}

static size_t content_length(char *headers, size_t size)
{
	headers[size - 1] = '\0';

	const char *found = strcasestr(headers, "\r\nContent-Length:");

	return found ? strtoul(found + strlen("\r\nContent-Length:"), NULL, 10) : 0;
}

static bool discard(int fd, size_t size)
{
	char block[64 << 10];

	while (size > 0) {
		ssize_t n = read(fd, block, size < sizeof(block) ? size : sizeof(block));

		if (n <= 0)
			return false;
		size -= (size_t)n;
	}
	return true;
}

/* One request; the start of the next one stays in `text`. */
static bool accept_request(int fd, char *text, size_t *used)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n"
				     "Content-Length: 0\r\n\r\n";
	size_t size = read_headers(fd, text, used);

	if (!size)
		return false;

	size_t body = content_length(text, size), have = *used - size;
	size_t part = have < body ? have : body;

	*used = have - part;
	memmove(text, text + size + part, *used);
	return discard(fd, body - part) && write(fd, answer, sizeof(answer) - 1) > 0;
}

static void *serve(void *arg)
{
	char text[HEADERS_MAX];
	size_t used = 0;
	int fd = (int)(intptr_t)arg;

	while (accept_request(fd, text, &used))
		;
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: bench-sink PORT\n");
		return 2;
	}
	serve_connections(atoi(argv[1]), serve);
}

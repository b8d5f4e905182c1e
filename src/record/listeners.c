/* SPDX-License-Identifier: Apache-2.0 */
#include "record/listeners.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TCP_STATE_CLOSE = 7, TCP_STATE_LISTEN = 10 };

/* Per file: more than hosts have, so that reading takes a bounded time. */
enum { LISTENERS_MAX = 4096 };

static void fclosep(FILE **file)
{
	if (*file)
		fclose(*file);
}

void listeners_done(struct listeners *l)
{
	map_done(&l->namespaces);
	*l = (struct listeners){ 0 };
}

/* The kernel prints addresses as numbers in its byte order, four bytes each. */
static bool parse_address(const char *hex, size_t words, uint8_t ret[16])
{
	for (size_t i = 0; i < words; i++) {
		uint32_t word;

		if (sscanf(hex + 8 * i, "%8x", &word) != 1)
			return false;
		memcpy(ret + 4 * i, &word, 4);
	}
	return true;
}

bool listeners_parse(const char *line, uint16_t family, struct record_socket_state *ret)
{
	size_t words = family == AF_INET6 ? 4 : 1;
	char hex[33];
	unsigned int port, state;
	unsigned long inode;

	if (sscanf(line, " %*u: %32[0-9A-Fa-f]:%x %*s %x %*s %*s %*s %*u %*u %lu", hex, &port,
		   &state, &inode) != 4 ||
	    state != TCP_STATE_LISTEN || strlen(hex) != 8 * words || port > UINT16_MAX)
		return false;
	ret->object = inode;
	ret->address.family = family;
	ret->address.protocol = IPPROTO_TCP;
	ret->address.local_port = port;
	ret->from = TCP_STATE_CLOSE;
	ret->to = TCP_STATE_LISTEN;
	return parse_address(hex, words, ret->address.local);
}

/* The kernel lists listeners first, and there can be many other sockets. */
static int read_file(const char *path, uint16_t family, const struct record_socket_state *like,
		     listener_fn *fn, void *arg, struct err *err)
{
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	char line[512];
	int r = 0;

	if (!file || !fgets(line, sizeof(line), file)) /* a heading */
		return 0;
	for (int i = 0; r == 0 && i < LISTENERS_MAX && fgets(line, sizeof(line), file); i++) {
		struct record_socket_state state = *like;

		if (!listeners_parse(line, family, &state))
			break;
		r = fn(arg, &state, err);
	}
	return r;
}

static uint32_t namespace_of(uint32_t pid)
{
	char path[64], target[64];
	unsigned int inode = 0;

	snprintf(path, sizeof(path), "/proc/%u/ns/net", pid);

	ssize_t n = readlink(path, target, sizeof(target) - 1);

	target[n > 0 ? n : 0] = '\0';
	return sscanf(target, "net:[%u]", &inode) == 1 ? inode : 0;
}

int listeners_read(struct listeners *l, uint32_t pid, nsec_t now, listener_fn *fn, void *arg,
		   struct err *err)
{
	uint32_t inode = namespace_of(pid);
	struct record_socket_state like = {
		.head = { .time = now, .kind = RECORD_SOCKET_STATE, .words = sizeof(like) / 8 },
		.netns = inode,
	};
	char path[64];

	if (!inode || map_find(&l->namespaces, inode))
		return 0;
	map_insert(&l->namespaces, inode);
	snprintf(path, sizeof(path), "/proc/%u/net/tcp", pid);

	int r = read_file(path, AF_INET, &like, fn, arg, err);

	snprintf(path, sizeof(path), "/proc/%u/net/tcp6", pid);
	return r < 0 ? r : read_file(path, AF_INET6, &like, fn, arg, err);
}

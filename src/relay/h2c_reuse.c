/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/h2c_reuse.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct h2c_reuse *reuse = arg;

	reuse->fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
	return reuse->fd < 0 ? CURL_SOCKET_BAD : reuse->fd;
}

static int on_close(void *arg, curl_socket_t fd)
{
	struct h2c_reuse *reuse = arg;

	if (reuse->fd == fd)
		reuse->fd = -1;
	return close(fd);
}

void h2c_reuse_init(struct h2c_reuse *reuse, CURL *easy)
{
	unsigned version = curl_version_info(CURLVERSION_NOW)->version_num;

	*reuse = (struct h2c_reuse){ .is_needed = version >> 8 == 0x0758, .fd = -1 };
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
	if (!reuse->is_needed)
		return;
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, reuse);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, reuse);
}

/* Input that waits can be the announcement of the end. */
static bool is_idle(int fd)
{
	char byte;

	return fd >= 0 && recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

void h2c_reuse_prepare(struct h2c_reuse *reuse, CURL *easy)
{
	bool can_reuse = is_idle(reuse->fd);

	if (!reuse->is_needed)
		return;
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, can_reuse ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
			 can_reuse ? (long)CURL_HTTP_VERSION_2_0
				   : (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream - bytes through a TCP connection in uneven pieces.
 *
 *	stream [COUNT]
 *
 * A child sends COUNT pieces of odd sizes with send, writev and sendfile; the parent
 * receives them into a buffer of another size, sometimes with MSG_PEEK first.  Prints
 * the results of all calls, which are the ranges of the stream to be recorded.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

#define PIECE_MAX 20011
#define BUFFER 4099
#define LIST_MAX 65536

struct list {
	unsigned long count;
	int64_t sizes[LIST_MAX];
};

static struct list *sent; /* shared with the child */
static struct list received;
static char bytes[PIECE_MAX];
static int source; /* a file for sendfile */

static int64_t send_piece(int out, unsigned long i, size_t size)
{
	struct iovec parts[2] = { { bytes, size / 2 }, { bytes, size - size / 2 } };
	off_t offset = 0;

	if (i % 3 == 0)
		return must(send(out, bytes, size, 0), "send");
	if (i % 3 == 1)
		return must(writev(out, parts, 2), "writev");
	return must(sendfile(out, source, &offset, size), "sendfile");
}

static void send_all(int out, unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		sent->sizes[sent->count++] = send_piece(out, i, i * 7919 % PIECE_MAX + 1);
	close(out);
}

static void receive_all(int in)
{
	char buffer[BUFFER];
	int64_t size;

	do {
		if (received.count % 5 == 0)
			must(recv(in, buffer, 100, MSG_PEEK), "peek");
		size = must(recv(in, buffer, sizeof(buffer), 0), "recv");
		received.sizes[received.count++] = size;
	} while (size && received.count < LIST_MAX);
	received.count--; /* the end of the stream is not a message */
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t size = sizeof(at);

	truth_init("stream");
	sent = mmap(NULL, sizeof(*sent), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	source = (int)must(memfd_create("source", 0), "memfd_create");
	must(write(source, bytes, sizeof(bytes)), "write");
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int listener = (int)must(socket(AF_INET, SOCK_STREAM, 0), "socket");
	must(bind(listener, (struct sockaddr *)&at, size), "bind");
	must(listen(listener, 1), "listen");
	must(getsockname(listener, (struct sockaddr *)&at, &size), "getsockname");
	truth_gate();

	pid_t child = (pid_t)must(fork(), "fork");
	if (!child) {
		int out = (int)must(socket(AF_INET, SOCK_STREAM, 0), "socket");

		must(connect(out, (struct sockaddr *)&at, size), "connect");
		send_all(out, number_arg(argc, argv, 1, 211));
		_exit(0);
	}
	receive_all((int)must(accept(listener, NULL, NULL), "accept"));
	waitpid(child, NULL, 0);
	truth_add("port", "%d", ntohs(at.sin_port));
	truth_add("sender", "%d", child);
	truth_add_list("sent", sent->sizes, sent->count);
	truth_add_list("received", received.sizes, received.count);
	truth_print();
	return 0;
}

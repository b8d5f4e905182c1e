/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/grpc_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "relay/clients.h"
#include "relay/grpc_session.h"

enum {
	EVENTS = 64,          /* connections handled in one run */
	READ_SIZE = 64 << 10, /* bytes read from a connection in one run */
	PREFACE_SIZE = 24,    /* bytes with which HTTP/2 starts */
};

enum connection_phase {
	PHASE_PREFACE, /* the first bytes: nothing is allocated yet */
	PHASE_HTTP2,
	PHASE_LINGER, /* the last reply was sent; what the client still sends is discarded */
};

struct grpc_connection {
	struct client client;
	int fd;
	enum connection_phase phase;
	size_t preface; /* bytes read of it */
	struct grpc_session *session;
	uint64_t requests, bytes; /* of the session, so far */
	struct body unsent;       /* output that the socket did not take */
	size_t sent;              /* bytes of it that were sent since */
	bool ends;                /* linger when everything is sent */
	uint32_t events;          /* of epoll */
};

struct grpc_server {
	struct receiver receiver;
	struct clients clients;
	/* The output and the input of the connection that is handled. */
	char *output;
	size_t output_size, output_room;
	char input[READ_SIZE];
};

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

static const char explanation[] =
	"HTTP/1.1 400 Bad Request\r\n"
	"Content-Type: text/plain\r\n"
	"Connection: close\r\n\r\n"
	"This port receives OTLP by gRPC, without TLS. OTLP/HTTP has another port, usually 4318; "
	"https is not supported.\n";

static void watch(struct grpc_server *server, struct grpc_connection *conn, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = conn };

	if (events == conn->events)
		return;
	epoll_ctl(server->clients.epoll, conn->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, conn->fd,
		  &event);
	conn->events = events;
}

static void on_open(void *arg, int fd)
{
	struct grpc_server *server = arg;
	struct grpc_connection *conn = must_alloc(sizeof(*conn));
	const int yes = 1;

	conn->fd = fd;
	/* small replies are sent at once */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	clients_add(&server->clients, &conn->client);
	watch(server, conn, EPOLLIN);
}

/* Appends to the server's buffer; it is reused. */
static void add_output(struct grpc_server *server, struct view bytes)
{
	size_t needed = server->output_size + bytes.len;

	if (needed > server->output_room) {
		server->output_room = 2 * needed;
		server->output = must_realloc(server->output, server->output_room);
	}
	memcpy(server->output + server->output_size, bytes.s, bytes.len);
	server->output_size = needed;
}

/* Returns the number of bytes that the socket took, or a negative errno. */
static ssize_t send_some(const struct grpc_connection *conn, const void *data, size_t size)
{
	ssize_t n = size ? send(conn->fd, data, size, MSG_NOSIGNAL) : 0;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	return n;
}

/* Sends the server's buffer; keeps the rest.  False if the connection has to be closed. */
static bool send_output(struct grpc_server *server, struct grpc_connection *conn)
{
	struct receiver *receiver = &server->receiver;
	ssize_t n = send_some(conn, server->output, server->output_size);
	size_t rest = n < 0 ? 0 : server->output_size - n;

	if (n < 0)
		return false;
	if (rest > receiver->limits.output ||
	    (rest &&
	     body_append(&conn->unsent, receiver->intake, server->output + n, rest, rest) < 0)) {
		receiver->counters.output_overflows++;
		return false;
	}
	return true;
}

/* Sends what the socket did not take before.  False if the connection has to be closed. */
static bool send_rest(struct grpc_server *server, struct grpc_connection *conn)
{
	ssize_t n = send_some(conn, conn->unsent.data + conn->sent, conn->unsent.size - conn->sent);

	if (n < 0)
		return false;
	conn->sent += n;
	if (conn->sent == conn->unsent.size) {
		body_done(&conn->unsent, server->receiver.intake);
		conn->sent = 0;
	}
	return true;
}

/* Sends all output that is due.  False if the connection has to be closed. */
static bool flush(struct grpc_server *server, struct grpc_connection *conn)
{
	struct view bytes;

	if (conn->unsent.size && !send_rest(server, conn))
		return false;
	if (conn->unsent.size || !conn->session)
		return true;
	server->output_size = 0;
	while ((bytes = grpc_session_pull(conn->session)).len)
		add_output(server, bytes);
	return send_output(server, conn);
}

/*
 * After the last output the connection is not closed at once: closing it while the client still
 * sends would discard replies that it has not read yet.
 */
static void linger(struct grpc_server *server, struct grpc_connection *conn)
{
	conn->phase = PHASE_LINGER;
	grpc_session_free(TAKE(conn->session));
	shutdown(conn->fd, SHUT_WR);
	client_set_busy(&server->clients, &conn->client);
}

/* Busy or idle, and the progress of requests.  Other frames, such as pings, are no progress. */
static void update_client(struct grpc_server *server, struct grpc_connection *conn)
{
	uint64_t requests = grpc_session_requests(conn->session),
		 bytes = grpc_session_bytes(conn->session);
	bool has_ended = requests != conn->requests;
	struct client *client = &conn->client;

	if (conn->unsent.size || grpc_session_streams(conn->session)) {
		client_set_busy(&server->clients, client);
		client_progress(&server->clients, client,
				has_ended ? PROGRESS_BYTES : bytes - conn->bytes);
	} else if (has_ended || client->state == CLIENT_BUSY) {
		client_set_idle(&server->clients, client);
	}
	conn->requests = requests;
	conn->bytes = bytes;
}

/* Waits for what the connection needs next. */
static void settle(struct grpc_server *server, struct grpc_connection *conn)
{
	bool is_sent = !conn->unsent.size;

	if (is_sent && conn->phase != PHASE_LINGER &&
	    (conn->ends || (conn->session && grpc_session_is_over(conn->session))))
		linger(server, conn);
	watch(server, conn, is_sent ? EPOLLIN : EPOLLOUT);
	if (conn->phase == PHASE_HTTP2)
		update_client(server, conn);
}

static void work(struct grpc_server *server, struct grpc_connection *conn)
{
	if (flush(server, conn))
		settle(server, conn);
	else
		client_close(&server->clients, &conn->client);
}

static void on_close(void *arg, struct client *client)
{
	struct grpc_connection *conn = (struct grpc_connection *)client;
	struct grpc_server *server = arg;

	if (conn->session) {
		grpc_session_end(conn->session); /* the client opens another connection */
		flush(server, conn);
	}
	grpc_session_free(TAKE(conn->session));
	body_done(&conn->unsent, server->receiver.intake);
	close(TAKE_FD(conn->fd));
}

/* Another protocol: the client gets an explanation. */
static void explain(struct grpc_server *server, struct grpc_connection *conn)
{
	server->receiver.counters.connections_foreign++;
	server->output_size = 0;
	add_output(server, (struct view){ explanation, strlen(explanation) });
	conn->ends = true;
	if (!send_output(server, conn))
		client_close(&server->clients, &conn->client);
}

/* Compares the first bytes with those of HTTP/2. */
static void read_preface(struct grpc_server *server, struct grpc_connection *conn, struct view *in)
{
	size_t rest = PREFACE_SIZE - conn->preface, n = in->len < rest ? in->len : rest;

	if (memcmp(in->s, preface + conn->preface, n) != 0) {
		explain(server, conn);
		return;
	}
	conn->preface += n;
	*in = (struct view){ in->s + n, in->len - n };
	if (conn->preface < PREFACE_SIZE)
		return;
	conn->phase = PHASE_HTTP2;
	conn->session = grpc_session_new(&server->receiver, conn->client.number);
	if (grpc_session_feed(conn->session, (struct view){ preface, PREFACE_SIZE }) < 0)
		conn->ends = true;
}

static void on_input(struct grpc_server *server, struct grpc_connection *conn)
{
	ssize_t n = recv(conn->fd, server->input, sizeof(server->input), 0);
	struct view in = { server->input, n > 0 ? n : 0 };

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		client_close(&server->clients, &conn->client);
		return;
	}
	if (conn->phase == PHASE_LINGER)
		return;
	if (conn->phase == PHASE_PREFACE)
		read_preface(server, conn, &in);
	if (conn->phase != PHASE_HTTP2 || !in.len)
		return;
	if (grpc_session_feed(conn->session, in) < 0)
		conn->ends = true;
}

static void on_event(struct grpc_server *server, struct grpc_connection *conn, uint32_t events)
{
	if (conn->client.state == CLIENT_CLOSING)
		return; /* closed by an earlier event of the same run */
	if (!(events & EPOLLOUT) || events & (EPOLLERR | EPOLLHUP))
		on_input(server, conn);
	if (conn->client.state != CLIENT_CLOSING)
		work(server, conn);
}

/* Connections are freed only now because events of this run can refer to them. */
static void free_closed(struct grpc_server *server)
{
	struct client *client;

	while ((client = server->clients.lists[CLIENT_CLOSING].oldest)) {
		clients_remove(&server->clients, client);
		free((struct grpc_connection *)client);
	}
}

void grpc_server_run(struct grpc_server *server)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(server->clients.epoll, events, EVENTS, 0);

	clients_begin(&server->clients);
	for (int i = 0; i < n; i++)
		if (!clients_handle(&server->clients, &events[i]))
			on_event(server, events[i].data.ptr, events[i].events);
	free_closed(server);
	clients_end(&server->clients, false);
}

int grpc_server_new(const struct grpc_server_options *options, struct grpc_server **ret,
		    struct err *err)
{
	_cleanup_(grpc_server_freep) struct grpc_server *server = must_alloc(sizeof(*server));
	int r;

	receiver_init(&server->receiver, &options->limits, options->intake, options->export,
		      options->arg);
	server->clients.open = on_open;
	server->clients.close = on_close;
	server->clients.arg = server;
	r = clients_init(&server->clients, &server->receiver, options->listeners,
			 options->listener_count, err);
	if (r < 0)
		return r;
	*ret = TAKE(server);
	return 0;
}

void grpc_server_free(struct grpc_server *server)
{
	static const enum client_state open[] = { CLIENT_BUSY, CLIENT_IDLE };

	if (!server)
		return;
	for (size_t i = 0; i < ARRAY_LEN(open); i++)
		while (server->clients.lists[open[i]].oldest)
			client_close(&server->clients, server->clients.lists[open[i]].oldest);
	free_closed(server);
	clients_done(&server->clients);
	free(server->output);
	free(server);
}

int grpc_server_fd(const struct grpc_server *server)
{
	return server->clients.epoll;
}

const struct receive_counters *grpc_server_counters(const struct grpc_server *server)
{
	return &server->receiver.counters;
}

size_t grpc_server_connections(const struct grpc_server *server)
{
	return server->clients.count;
}

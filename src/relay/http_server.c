/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/http_server.h"

#include <errno.h>
#include <microhttpd.h>
#include <sys/socket.h>

#include "relay/clients.h"
#include "relay/http_reply.h"

enum {
	EVENTS = 64,
	ROUNDS = 16, /* of libmicrohttpd in one run; each reads every connection once */
	CONNECTION_MEMORY = 16 << 10, /* bytes for headers, and a piece of the body */
	SPARE_CONNECTIONS = 1024,     /* accepted while the ones that they replace are closed */
};

struct http_client {
	struct client client;
	int fd; /* borrowed: libmicrohttpd closes it */
};

struct http_server {
	struct http_server_options options;
	struct receiver receiver;
	struct clients clients;
	struct MHD_Daemon *daemon;
};

static struct http_client *client_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
		->socket_context;
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http_server *server = arg;
	struct http_client *client = *socket_context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		client = must_alloc(sizeof(*client));
		client->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
				     ->connect_fd;
		clients_add(&server->clients, &client->client);
		*socket_context = client;
	} else {
		clients_remove(&server->clients, &client->client);
		free(client);
	}
}

/* libmicrohttpd finds the end of the connection and closes it. */
static void on_close(void *arg, struct client *client)
{
	shutdown(((struct http_client *)client)->fd, SHUT_RDWR);
}

/* The first line of a request has arrived. */
static void *on_request_line(void *arg, const char *uri, struct MHD_Connection *connection)
{
	struct http_server *server = arg;

	client_set_busy(&server->clients, &client_of(connection)->client);
	return NULL;
}

/* Called with the headers, for each piece of the body, and at the end. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **context)
{
	struct http_server *server = arg;
	struct http_request *request = *context;
	struct client *client = &client_of(connection)->client;
	size_t n = *size;

	*size = 0;
	if (!request) {
		request = *context = must_alloc(sizeof(*request));
		http_request_begin(request, &server->receiver, &server->options, connection, url,
				   method);
		return MHD_YES;
	}
	if (n) {
		client_progress(&server->clients, client, n);
		return http_request_data(request, &server->receiver, data, n) ? MHD_YES : MHD_NO;
	}
	http_request_end(request, &server->receiver, &server->options, url, client->number);
	return http_reply_queue(connection, request);
}

static void on_request_done(void *arg, struct MHD_Connection *connection, void **context,
			    enum MHD_RequestTerminationCode code)
{
	struct http_server *server = arg;

	if (*context)
		http_request_free(*context, &server->receiver);
	*context = NULL;
	client_set_idle(&server->clients, &client_of(connection)->client);
}

void http_server_add(struct http_server *server, int fd)
{
	/* The address is not used. */
	const struct sockaddr address = { .sa_family = AF_UNSPEC };

	MHD_add_connection(server->daemon, fd, &address, sizeof(address));
}

static void on_open(void *arg, int fd)
{
	http_server_add(arg, fd);
}

void http_server_run(struct http_server *server)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(server->clients.epoll, events, EVENTS, 0);
	MHD_UNSIGNED_LONG_LONG timeout = 0;
	bool is_pending = true;

	clients_begin(&server->clients);
	for (int i = 0; i < n; i++)
		clients_handle(&server->clients, &events[i]);
	/* libmicrohttpd does not read to the end of a socket: its descriptor alone is not enough */
	for (int i = 0; i < ROUNDS && is_pending; i++) {
		MHD_run(server->daemon);
		is_pending = MHD_get_timeout(server->daemon, &timeout) == MHD_YES && timeout == 0;
	}
	clients_end(&server->clients, is_pending);
}

static int start_daemon(struct http_server *server, struct err *err)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = server };
	const union MHD_DaemonInfo *info;

	server->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, on_request, server,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED,
		on_request_done, server, MHD_OPTION_URI_LOG_CALLBACK, on_request_line, server,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)server->receiver.limits.connections + SPARE_CONNECTIONS,
		MHD_OPTION_END);
	if (!server->daemon)
		return err_errno(err, "cannot start the HTTP server of the relay");
	info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (epoll_ctl(server->clients.epoll, EPOLL_CTL_ADD, info->epoll_fd, &event) < 0)
		return err_errno(err, "cannot poll the HTTP server of the relay");
	return 0;
}

int http_server_new(const struct http_server_options *options, struct http_server **ret,
		    struct err *err)
{
	_cleanup_(http_server_freep) struct http_server *server = must_alloc(sizeof(*server));
	int r;

	server->options = *options;
	receiver_init(&server->receiver, &options->limits, options->intake, options->export,
		      options->arg);
	server->clients.open = on_open;
	server->clients.close = on_close;
	server->clients.arg = server;
	r = clients_init(&server->clients, &server->receiver, options->listeners,
			 options->listener_count, err);
	if (r == 0)
		r = start_daemon(server, err);
	if (r < 0)
		return r;
	*ret = TAKE(server);
	return 0;
}

void http_server_free(struct http_server *server)
{
	if (!server)
		return;
	if (server->daemon)
		MHD_stop_daemon(server->daemon); /* closes all connections */
	clients_done(&server->clients);
	free(server);
}

int http_server_fd(const struct http_server *server)
{
	return server->clients.epoll;
}

const struct receive_counters *http_server_counters(const struct http_server *server)
{
	return &server->receiver.counters;
}

size_t http_server_connections(const struct http_server *server)
{
	return server->clients.count;
}

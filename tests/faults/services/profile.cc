// SPDX-License-Identifier: Apache-2.0
/* profile PORT COLLECTOR - profiles of users; one request in four sends an event to a collector. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <string>
#include <thread>

static int collector_port;
static std::atomic<unsigned> requests;

static sockaddr_in address_of(int port)
{
	sockaddr_in address = {};

	address.sin_family = AF_INET;
	address.sin_port = htons(port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

static bool send_event(const std::string &event)
{
	sockaddr_in address = address_of(collector_port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool sent = connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0 &&
		    write(fd, event.data(), event.size()) == static_cast<ssize_t>(event.size());

	close(fd);
	return sent;
}

static void report(std::string event)
{
	pthread_setname_np(pthread_self(), "audit");
	for (int tries = 0; tries < 2 && !send_event(event); tries++)
		std::this_thread::sleep_for(std::chrono::milliseconds(35));
}

static std::string handle(const std::string &request)
{
	std::future<void> reported;

	/* Meant to run in the background, but the destructor of the future waits for the task. */
	if (requests++ % 4 == 0)
		reported = std::async(std::launch::async, report, request);
	return "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nprofile\n";
}

static void serve(int fd)
{
	std::string request;
	char buffer[4096];

	for (ssize_t n; (n = read(fd, buffer, sizeof(buffer))) > 0;) {
		request.append(buffer, n);
		if (request.find("\r\n\r\n") == std::string::npos)
			continue;
		std::string reply = handle(request);
		if (write(fd, reply.data(), reply.size()) < 0)
			break;
		request.clear();
	}
	close(fd);
}

int main(int argc, char **argv)
{
	sockaddr_in address = address_of(atoi(argv[1]));
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	collector_port = atoi(argv[2]);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof(address)) < 0 ||
	    listen(listener, 128) < 0)
		return 1;
	for (;;) {
		int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);

		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
		std::thread(serve, fd).detach();
	}
}

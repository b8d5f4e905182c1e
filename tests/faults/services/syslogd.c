// SPDX-License-Identifier: Apache-2.0
/* syslogd SOCKET - receive log messages as datagrams, with a pause after each burst. */
#include <sys/un.h>
#include "http.h"

#define BURST 300 /* messages */

int main(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	static char message[8192];

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", argv[1]);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		http_die("bind");
	for (int count = 1; recv(fd, message, sizeof(message), 0) >= 0; count++)
		if (count % BURST == 0)
			sleep_ms(120); /* forwards the messages */
	return 1;
}

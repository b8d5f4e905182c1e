// SPDX-License-Identifier: Apache-2.0
/* ranking SOCKET - sort numbers for each client of a Unix socket. */
#include <sys/un.h>
#include "http.h"

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void *serve(void *arg)
{
	int fd = (int)(long)arg, *numbers = malloc(400000 * sizeof(int));
	unsigned seed = 1;
	char request[64];

	while (read(fd, request, sizeof(request)) > 0) {
		for (int i = 0; i < 400000; i++)
			numbers[i] = rand_r(&seed) >> 1;
		qsort(numbers, 400000, sizeof(int), compare);
		if (write(fd, "done\n", 5) < 0)
			break;
	}
	free(numbers);
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strncpy(address.sun_path, argv[1], sizeof(address.sun_path) - 1);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(listener, 64) < 0)
		http_die("listen");
	for (;;) {
		pthread_t thread;
		int fd = accept(listener, NULL, NULL);

		pthread_create(&thread, NULL, serve, (void *)(long)fd);
		pthread_detach(thread);
	}
}

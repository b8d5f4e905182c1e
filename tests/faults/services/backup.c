// SPDX-License-Identifier: Apache-2.0
/* backup FILE - write bursts of 96 MiB past the page cache, as a backup does. */
#include <fcntl.h>
#include "http.h"

#define PART (8 << 20)

int main(int argc, char **argv)
{
	static _Alignas(4096) char data[PART];

	memset(data, 'b', sizeof(data));
	for (;;) {
		int fd = open(argv[1], O_CREAT | O_TRUNC | O_WRONLY | O_DIRECT | O_CLOEXEC, 0600);

		for (int i = 0; i < 12; i++)
			if (write(fd, data, sizeof(data)) != sizeof(data))
				http_die("write");
		fsync(fd);
		close(fd);
		sleep_ms(200);
	}
}

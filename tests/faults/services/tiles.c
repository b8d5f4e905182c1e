// SPDX-License-Identifier: Apache-2.0
/* tiles PORT FILE - a request reads 64 pages at random from a mapped file. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "http.h"

#define PAGE 4096

static const unsigned char *map;
static size_t pages;

static void handle(int fd, const char *path)
{
	static unsigned long seed = 1;
	char body[64];
	long sum = 0;

	for (int i = 0; i < 64; i++) {
		seed = seed * 6364136223846793005ul + 1442695040888963407ul;
		sum += map[(seed >> 20) % pages * PAGE];
	}
	snprintf(body, sizeof(body), "%ld\n", sum);
	http_reply(fd, body);
}

int main(int argc, char **argv)
{
	int fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		http_die(argv[2]);
	map = mmap(NULL, st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		http_die("mmap");
	madvise((void *)map, st.st_size, MADV_RANDOM);
	pages = st.st_size / PAGE;
	http_serve(atoi(argv[1]), handle);
}

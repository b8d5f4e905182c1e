// SPDX-License-Identifier: Apache-2.0
/* Lookups in an index that is mapped from a file: some pages of it for each request. */
#include "http.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define PROBES 20

static const unsigned char *data;
static size_t pages;

static void handle(int fd, const char *path)
{
	static __thread unsigned seed;
	char body[32];
	long sum = 0;

	if (!seed)
		seed = gettid();
	for (int i = 0; i < PROBES; i++)
		sum += data[rand_r(&seed) % pages * 4096];
	snprintf(body, sizeof(body), "%ld\n", sum);
	http_reply(fd, body);
}

int main(int argc, char **argv)
{
	int fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	struct stat about;

	if (fd < 0 || fstat(fd, &about) < 0)
		http_die(argv[2]);
	pages = about.st_size / 4096;
	data = mmap(NULL, about.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		http_die("mmap");
	madvise((void *)data, about.st_size, MADV_RANDOM);
	http_serve(atoi(argv[1]), handle);
}

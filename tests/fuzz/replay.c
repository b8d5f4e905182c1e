/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay FILE|DIRECTORY... - run a fuzz target on stored inputs, without a fuzzer.
 *
 * Linked with a target instead of libFuzzer, so that each input that once broke it
 * is a regular test, with any compiler.  Prints TAP.
 */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "unit/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static int count;

static void replay(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0) {
		printf("not ok %d - %s: not there\n", ++count, path);
	} else if (S_ISREG(st.st_mode)) {
		_cleanup_(bytes_done) struct bytes bytes = bytes_read(path);

		LLVMFuzzerTestOneInput(bytes.data, bytes.size);
		printf("ok %d - %s\n", ++count, path);
	} else if (S_ISDIR(st.st_mode)) {
		DIR *dir = opendir(path);

		for (struct dirent *e; dir && (e = readdir(dir));) {
			_cleanup_(freep) char *below = must_printf("%s/%s", path, e->d_name);

			if (e->d_name[0] != '.')
				replay(below);
		}
		if (dir)
			closedir(dir);
	}
}

int main(int argc, char **argv)
{
	setlinebuf(stdout);
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	printf("1..%d\n", count);
	return count == 0;
}

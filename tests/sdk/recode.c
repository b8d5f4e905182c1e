/* SPDX-License-Identifier: Apache-2.0 */
/* recode FILE - decodes the OTLP request in a file, and writes it re-encoded to stdout. */
#include "unit/recode.h"

#include <stdio.h>

#include "base/file.h"

int main(int argc, char **argv)
{
	_cleanup_(otlp_writer_done) struct otlp_writer w = { 0 };
	_cleanup_(file_unmap) struct view file = { 0 };
	struct err err = { "usage: recode FILE" };

	if (argc != 2 || file_map(argv[1], &file, &err) < 0) {
		fprintf(stderr, "recode: %s\n", err.text);
		return 1;
	}
	struct view bytes = recode(&w, file);
	return fwrite(bytes.s, 1, bytes.len, stdout) != bytes.len;
}

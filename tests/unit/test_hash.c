/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "test.h"

TEST(every_byte_and_the_size_change_the_hash)
{
	char text[40] = { 0 };
	uint64_t hashes[2 * ARRAY_LEN(text)];
	size_t count = 0;

	for (size_t size = 0; size < ARRAY_LEN(text); size++)
		hashes[count++] = hash_bytes(text, size);
	for (size_t i = 0; i < ARRAY_LEN(text); i++) {
		text[i] = 1;
		hashes[count++] = hash_bytes(text, sizeof(text));
		text[i] = 0;
	}
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < i; k++)
			CHECK(hashes[i] != hashes[k]);
	CHECK(hash_bytes("abc", 3) == hash_bytes("abcd", 3));
}

TEST(every_bit_of_a_number_changes_the_hash)
{
	for (int i = 0; i < 64; i++) {
		CHECK(hash_number(1ull << i) != hash_number(0));
		for (int k = 0; k < i; k++)
			CHECK(hash_number(1ull << i) != hash_number(1ull << k));
	}
}

/* The hash of the same text in another run of this program. */
static uint64_t hash_of_another_run(const char *program)
{
	_cleanup_(freep) char *command = must_printf("'%s' print", program);
	uint64_t hash = 0;
	FILE *out = popen(command, "r");

	CHECK(out && fscanf(out, "%" SCNu64, &hash) == 1);
	if (out)
		pclose(out);
	return hash;
}

TEST(each_process_has_its_own_key)
{
	char program[4096] = "";

	CHECK(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
	CHECK(hash_of_another_run(program) != hash_of_another_run(program));
}

__attribute__((constructor)) static void print_if_asked(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "print") != 0)
		return;
	printf("%" PRIu64 "\n", hash_bytes("text", 4));
	fflush(stdout);
	_exit(0);
}

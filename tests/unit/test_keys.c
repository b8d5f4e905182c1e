/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/keys.h"
#include "test.h"

static struct keys keys;

static void type(const char *bytes)
{
	keys_feed(&keys, bytes, strlen(bytes));
}

static void forget(void)
{
	keys.count = 0;
}

TEST(characters_are_keys)
{
	type("q/é表");
	CHECK_INT(keys_next(&keys, false), 'q');
	CHECK_INT(keys_next(&keys, false), '/');
	CHECK_INT(keys_next(&keys, false), 0xe9);
	CHECK_INT(keys_next(&keys, false), 0x8868);
	CHECK_INT(keys_next(&keys, false), KEY_NONE);
}

TEST(sequences_are_keys_in_both_modes_of_terminals)
{
	type("\033[A\033OB\033[C\033[1;5D\033[H\033OF\033[5~\033[6~\033[1~\033[8~");
	CHECK_INT(keys_next(&keys, false), KEY_UP);
	CHECK_INT(keys_next(&keys, false), KEY_DOWN);
	CHECK_INT(keys_next(&keys, false), KEY_RIGHT);
	CHECK_INT(keys_next(&keys, false), KEY_LEFT);
	CHECK_INT(keys_next(&keys, false), KEY_HOME);
	CHECK_INT(keys_next(&keys, false), KEY_END);
	CHECK_INT(keys_next(&keys, false), KEY_PAGE_UP);
	CHECK_INT(keys_next(&keys, false), KEY_PAGE_DOWN);
	CHECK_INT(keys_next(&keys, false), KEY_HOME);
	CHECK_INT(keys_next(&keys, false), KEY_END);
	CHECK_INT(keys.count, 0);
}

TEST(a_sequence_can_arrive_in_parts)
{
	type("\033");
	CHECK_INT(keys_next(&keys, false), KEY_NONE);
	type("[");
	CHECK_INT(keys_next(&keys, false), KEY_NONE);
	type("A");
	CHECK_INT(keys_next(&keys, false), KEY_UP);
	type("\xc3");
	CHECK_INT(keys_next(&keys, false), KEY_NONE);
	type("\xa9");
	CHECK_INT(keys_next(&keys, false), 0xe9);
}

TEST(esc_is_a_key_if_nothing_follows)
{
	type("\033");
	CHECK_INT(keys_next(&keys, true), KEY_ESC);
	type("\033q");
	CHECK_INT(keys_next(&keys, false), KEY_ESC);
	CHECK_INT(keys_next(&keys, false), 'q');
	type("\033\033[A");
	CHECK_INT(keys_next(&keys, false), KEY_ESC);
	CHECK_INT(keys_next(&keys, false), KEY_UP);
	CHECK_INT(keys.count, 0);
}

TEST(unknown_sequences_and_malformed_bytes_are_skipped)
{
	type("\033[200~\033[?1;2cx\033[38;5;1mz\xff\xc0\xaf\xed\xa0\x80y");
	CHECK_INT(keys_next(&keys, false), 'x');
	CHECK_INT(keys_next(&keys, false), 'z');
	CHECK_INT(keys_next(&keys, false), 'y');
	CHECK_INT(keys_next(&keys, false), KEY_NONE);
	CHECK_INT(keys.count, 0);
}

TEST(an_endless_sequence_does_not_fill_the_buffer)
{
	for (int i = 0; i < 1000; i++) {
		type(i ? "1" : "\033[");
		keys_next(&keys, false);
		CHECK(keys.count < 64);
	}
	forget();
	for (int i = 0; i < 100; i++)
		type("0123456789");
	CHECK_INT(keys.count, sizeof(keys.bytes));
	forget();
}

TEST(enter_and_backspace_have_two_codes)
{
	type("\r\n\b\177");
	CHECK_INT(keys_next(&keys, false), KEY_ENTER);
	CHECK_INT(keys_next(&keys, false), KEY_ENTER);
	CHECK_INT(keys_next(&keys, false), KEY_BACKSPACE);
	CHECK_INT(keys_next(&keys, false), KEY_BACKSPACE);
}

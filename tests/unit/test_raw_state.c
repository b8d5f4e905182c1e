/* SPDX-License-Identifier: Apache-2.0 */
#include "read/raw/kernel_formats.h"
#include "test.h"

/* The print format of sched_switch, in Linux 3.10 to 4.13 and since 4.14. */
static const char before_4_14[] =
	"print fmt: \"prev_state=%s%s ==> next_comm=%s\", REC->prev_state & (2048-1) ? "
	"__print_flags(REC->prev_state & (2048-1), \"|\", { 1, \"S\"} , { 2, \"D\" }, { 4, \"T\" "
	"}, "
	"{ 8, \"t\" }, { 16, \"Z\" }, { 32, \"X\" }, { 64, \"x\" }, { 128, \"K\" }, { 256, \"W\" "
	"}, "
	"{ 512, \"P\" }, { 1024, \"N\" }) : \"R\", REC->prev_state & 2048 ? \"+\" : \"\"";
static const char since_4_14[] =
	"print fmt: \"prev_state=%s%s\", (REC->prev_state & ((((0x0 | 0x40) + 1) << 1) - 1)) ? "
	"__print_flags(REC->prev_state & ((((0x0 | 0x40) + 1) << 1) - 1), \"|\", { 0x00000001, "
	"\"S\" }, { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, { 0x00000008, \"t\" }, { "
	"0x00000010, \"X\" }, { 0x00000020, \"Z\" }, { 0x00000040, \"P\" }, { 0x00000080, \"I\" }) "
	": \"R\"";

static uint64_t read_one(struct raw_states states, uint64_t number)
{
	return raw_state_read(&states, number, false);
}

static void check_old(struct raw_states states)
{
	CHECK(states.known);
	CHECK_INT(read_one(states, 1), RAW_STATE_SLEEP);
	CHECK_INT(read_one(states, 130), RAW_STATE_DISK); /* killable */
	CHECK_INT(read_one(states, 64), RAW_STATE_DEAD);
	CHECK_INT(read_one(states, 512), RAW_STATE_PARKED);
	CHECK_INT(read_one(states, 2048), 0); /* preempted */
}

static void check_new(struct raw_states states)
{
	CHECK(states.known);
	CHECK_INT(read_one(states, 2), RAW_STATE_DISK);
	CHECK_INT(read_one(states, 16), RAW_STATE_DEAD);
	CHECK_INT(read_one(states, 64), RAW_STATE_PARKED);
	CHECK_INT(read_one(states, 128), RAW_STATE_IDLE);
	CHECK_INT(read_one(states, 256), 0);
}

TEST(the_numbering_follows_from_the_print_format)
{
	struct raw_states states;

	CHECK(raw_states_of_format(before_4_14, strlen(before_4_14), &states));
	check_old(states);
	CHECK(raw_states_of_format(since_4_14, strlen(since_4_14), &states));
	check_new(states);
	CHECK(!raw_states_of_format("print fmt: \"%s\"", 15, &states));
	CHECK(!raw_states_of_format(since_4_14, 150, &states));
}

TEST(the_numbering_follows_from_the_release)
{
	check_old(raw_states_of_release("4.4.3-1-ARCH"));
	check_old(raw_states_of_release("3.10.31-ltsi"));
	check_old(raw_states_of_release("4.13"));
	check_new(raw_states_of_release("4.14.0"));
	check_new(raw_states_of_release("6.1.0-54-amd64"));
	CHECK(!raw_states_of_release(NULL).known);
	CHECK(!raw_states_of_release("nonsense").known);
}

TEST(two_bits_in_one_number_prove_the_old_numbering)
{
	struct raw_states states = raw_states_of_release(NULL);

	CHECK_INT(raw_state_read(&states, 64, false), RAW_STATE_PARKED);
	CHECK(states.doubtful);
	CHECK_INT(raw_state_read(&states, 130, false), RAW_STATE_DISK);
	CHECK_INT(raw_state_read(&states, 64, false), RAW_STATE_DEAD);

	struct raw_states plain = raw_states_of_release(NULL);

	CHECK_INT(raw_state_read(&plain, 2, false), RAW_STATE_DISK);
	CHECK(!plain.doubtful);
}

TEST(the_idle_task_reveals_shifted_states)
{
	struct raw_states states = raw_states_of_release("4.18.0");

	CHECK(raw_states_are_shifted("4.18.0-25-generic") && raw_states_are_shifted("4.19.7"));
	CHECK(!raw_states_are_shifted("4.19.8") && !raw_states_are_shifted("4.13.9"));
	CHECK_INT(raw_state_read(&states, 1, true), 0);
	CHECK_INT(raw_state_read(&states, 2, false), RAW_STATE_SLEEP);
	CHECK_INT(raw_state_read(&states, 4, false), RAW_STATE_DISK);
	CHECK_INT(raw_state_read(&states, 16, false), RAW_STATE_TRACED);
	CHECK_INT(raw_state_read(&states, 1, false), 0);
	CHECK_INT(raw_state_read(&states, 256, false), 0);
	CHECK_INT(raw_state_read(&states, 0, true), 0);
	CHECK_INT(raw_state_read(&states, 1, false), RAW_STATE_SLEEP);
}

TEST(letters_need_no_translation)
{
	struct raw_states letters = { 0 };

	CHECK_INT(raw_state_read(&letters, RAW_STATE_DEAD, false), RAW_STATE_DEAD);
	CHECK_INT(raw_state_of_letter('x'), RAW_STATE_DEAD);
	CHECK_INT(raw_state_of_letter('?'), -1);
}

TEST(the_numbering_follows_from_the_formats_of_a_trace)
{
	static const char head[] = "name: sched_switch\nID: 5\n";
	char text[1024];
	struct kernel_formats formats;
	struct kernel_abi abi = { .long_size = 8 };

	snprintf(text, sizeof(text), "%s%s", head, before_4_14);
	kernel_formats_init(&formats, abi);
	check_new(kernel_formats_states(&formats, "5.10.0"));
	CHECK(kernel_formats_states(&formats, "4.15.2").shifted);
	formats.texts[5] = (struct kernel_format_text){ "sched", text, strlen(text) };
	check_old(kernel_formats_states(&formats, NULL));
	kernel_formats_done(&formats);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "cli/opt.h"
#include "test.h"

struct opts {
	bool quiet, all;
	const char *output, *syscalls;
	unsigned long rate;
	nsec_t duration;
	uint64_t buffer;
	struct opt_list pids;
};

static const struct opt table[] = {
	{ OPT_FLAG, 'q', "quiet", NULL, "print less", offsetof(struct opts, quiet) },
	{ OPT_FLAG, 'a', "all", NULL, "everything", offsetof(struct opts, all) },
	{ OPT_STRING, 'o', "output", "FILE", "output file", offsetof(struct opts, output) },
	{ OPT_OPTIONAL, 0, "syscalls", "LIST", "these", offsetof(struct opts, syscalls) },
	{ OPT_COUNT, 0, "rate", "HZ", "how often", offsetof(struct opts, rate) },
	{ OPT_TIME, 'd', "duration", "TIME", "how long", offsetof(struct opts, duration) },
	{ OPT_SIZE, 0, "buffer", "SIZE", "how large", offsetof(struct opts, buffer) },
	{ OPT_LIST, 'p', "pid", "PID", "processes", offsetof(struct opts, pids) },
	{ 0 },
};

static const struct opts defaults = { .output = "capture" };

static const struct command command = {
	.name = "try",
	.synopsis = "[OPTION]... FILE...",
	.opts = table,
	.defaults = &defaults,
	.opts_size = sizeof(defaults),
	.min_operands = 1,
	.max_operands = 3,
};

static const struct command runner = {
	.name = "run",
	.synopsis = "[OPTION]... [-- CMD...]",
	.opts = table,
	.defaults = &defaults,
	.opts_size = sizeof(defaults),
	.max_operands = SIZE_MAX,
	.after_dashes = true,
};

static const struct command starter = {
	.name = "start",
	.synopsis = "[OPTION]... [--] CMD...",
	.opts = table,
	.defaults = &defaults,
	.opts_size = sizeof(defaults),
	.min_operands = 1,
	.max_operands = SIZE_MAX,
	.takes_command = true,
};

/* The result of parsing one command line. */
struct call {
	struct arena *arena;
	struct opts opts;
	char *argv[16];
	size_t operands;
	int result;
	struct err err;
};

static void call_done(struct call *call)
{
	arena_free(call->arena);
}

static struct call parse_with(const struct command *cmd, const char *line)
{
	struct call c = { .arena = arena_new(), .opts = defaults };
	size_t words = 0, size = strlen(line) + 1;
	char *rest = memcpy(arena_alloc(c.arena, size), line, size);

	while (rest)
		c.argv[words++] = strsep(&rest, " ");
	c.result = opt_parse(cmd, c.argv, c.arena, &c.opts, &c.err);
	while (c.argv[c.operands])
		c.operands++;
	return c;
}

#define PARSE(line) _cleanup_(call_done) struct call c = parse_with(&command, line)
#define PARSE_START(line) _cleanup_(call_done) struct call c = parse_with(&starter, line)
#define PARSE_RUN(line) _cleanup_(call_done) struct call c = parse_with(&runner, line)

#define CHECK_REFUSED(line, message) \
	do { \
		PARSE(line); \
		CHECK_INT(c.result, -EUSAGE); \
		CHECK_STR(c.err.text, message); \
	} while (0)

TEST(an_omitted_option_keeps_its_default)
{
	PARSE("x");
	CHECK_INT(c.result, 0);
	CHECK_STR(c.opts.output, "capture");
	CHECK(!c.opts.quiet && !c.opts.syscalls && !c.opts.pids.count);
}

TEST(a_value_can_be_joined_or_be_the_next_argument)
{
	static const char *const lines[] = { "-ofile x", "-o file x", "--output=file x",
					     "--output file x" };

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		PARSE(lines[i]);
		CHECK_INT(c.result, 0);
		CHECK_STR(c.opts.output, "file");
		CHECK_INT(c.operands, 1);
	}
}

TEST(short_flags_can_be_joined_with_an_option_that_has_a_value)
{
	PARSE("-qad1.5 x");
	CHECK_INT(c.result, 0);
	CHECK(c.opts.quiet && c.opts.all);
	CHECK_INT(c.opts.duration, 1500000000);
}

TEST(each_option_type_is_parsed_and_stored)
{
	PARSE("--rate=99 --buffer=2M --duration 20us x");
	CHECK_INT(c.result, 0);
	CHECK_INT(c.opts.rate, 99);
	CHECK_INT(c.opts.buffer, 2 << 20);
	CHECK_INT(c.opts.duration, 20000);
}

TEST(an_optional_value_requires_an_equals_sign)
{
	{
		PARSE("--syscalls read");
		CHECK_STR(c.opts.syscalls, "");
		CHECK_STR(c.argv[0], "read");
	}
	{
		PARSE("--syscalls=read,write x");
		CHECK_STR(c.opts.syscalls, "read,write");
	}
}

TEST(a_list_grows_by_repetition_and_by_commas)
{
	PARSE("-p1 --pid=22,333 x -p 4 --pid 5,6");
	CHECK_INT(c.result, 0);
	CHECK_INT(c.opts.pids.count, 6);
	static const char *const want[] = { "1", "22", "333", "4", "5", "6" };
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		CHECK_STR(c.opts.pids.items[i], want[i]);
}

TEST(options_can_follow_operands_but_not_a_double_dash)
{
	PARSE("one -q - -- --all");
	CHECK_INT(c.result, 0);
	CHECK(c.opts.quiet && !c.opts.all);
	CHECK_INT(c.operands, 3);
	CHECK_STR(c.argv[0], "one");
	CHECK_STR(c.argv[1], "-");
	CHECK_STR(c.argv[2], "--all");
}

TEST(a_command_to_record_must_follow_a_double_dash)
{
	{
		PARSE_RUN("-q -- ls -a -- -q");
		CHECK_INT(c.result, 0);
		CHECK_INT(c.operands, 4);
		CHECK_STR(c.argv[1], "-a");
		CHECK(!c.opts.all);
	}
	{
		PARSE_RUN("-q ls -l");
		CHECK_INT(c.result, -EUSAGE);
		CHECK_STR(c.err.text, "'ls' is not an option; put a command to run after '--'");
	}
}

TEST(a_command_to_run_needs_no_double_dash)
{
	{
		PARSE_START("-q ls -a -- -q");
		CHECK_INT(c.result, 0);
		CHECK_INT(c.operands, 4);
		CHECK(c.opts.quiet && !c.opts.all);
	}
	{
		PARSE_START("-q -- ls -a");
		CHECK_INT(c.result, 0);
		CHECK_INT(c.operands, 2);
	}
	{
		PARSE_START("-q");
		CHECK_INT(c.result, -EUSAGE);
	}
}

TEST(an_invalid_value_gives_a_message)
{
	CHECK_REFUSED("--rate=often x", "--rate requires a number, not 'often'");
	CHECK_REFUSED("--rate=-1 x", "--rate requires a number, not '-1'");
	CHECK_REFUSED("--rate=0 x", "--rate requires a number above 0, not '0'");
	CHECK_REFUSED("-dx x", "--duration requires a time such as 5s or 1.5ms, not 'x'");
	CHECK_REFUSED("--buffer=2X x", "--buffer requires a size such as 64k or 2M, not '2X'");
	CHECK_REFUSED("--buffer=99999999T x", "--buffer: '99999999T' is too large");
	CHECK_REFUSED("--pid=1,,2 x", "--pid has an empty item in '1,,2'");
	CHECK_REFUSED("--output= x", "--output requires a value");
	CHECK_REFUSED("x --output", "--output requires a value");
	CHECK_REFUSED("x -o", "--output requires a value");
	CHECK_REFUSED("--quiet=yes x", "--quiet takes no value");
}

TEST(an_unknown_option_suggests_the_nearest_one)
{
	CHECK_REFUSED("--ouptut=x",
		      "'sonde try' has no option '--ouptut'; did you mean '--output'?");
	CHECK_REFUSED("--sys", "'sonde try' has no option '--sys'; did you mean '--syscalls'?");
	CHECK_REFUSED("--zebra", "'sonde try' has no option '--zebra'");
	CHECK_REFUSED("-qz", "'sonde try' has no option '-z'");
}

TEST(the_number_of_operands_is_checked)
{
	CHECK_REFUSED("-q", "missing operand: sonde try [OPTION]... FILE...");
	CHECK_REFUSED("1 2 3 4", "unexpected operand '4': sonde try [OPTION]... FILE...");
}

TEST(typing_errors_are_counted)
{
	CHECK_INT(opt_distance("record", "record"), 0);
	CHECK_INT(opt_distance("recrod", "record"), 1);
	CHECK_INT(opt_distance("dmp", "dump"), 1);
	CHECK_INT(opt_distance("doctro", "doctor"), 1);
	CHECK(opt_distance("x", "info") == SIZE_MAX);
	CHECK(opt_distance("", "info") == SIZE_MAX);
	CHECK(opt_distance("explain", "info") == SIZE_MAX);
	CHECK(opt_distance("a-word-that-is-longer-than-any-of-ours", "info") == SIZE_MAX);
}

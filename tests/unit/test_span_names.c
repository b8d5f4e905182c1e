/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/span_names.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "arena_build.h"
#include "event/span_switch.h"
#include "test.h"

static void add_name(struct arena_build *b, size_t i, const char *name, uint64_t count, bool off)
{
	struct span_name *n = &b->arena->names[i];

	strncpy(n->name, name, sizeof(n->name)); /* including one without final NUL */
	n->count = count;
	n->off = off;
	n->used = SPAN_SLOT_USED;
}

/* NULL, and the test skipped, if map_files is not accessible. */
static struct span_names *open_own(void)
{
	struct span_names *names = NULL;
	struct err err;
	int r = span_names_open(getpid(), &names, &err);

	if (r == -EPERM || r == -EACCES)
		test_skipped = "needs CAP_CHECKPOINT_RESTORE";
	else
		CHECK_INT(r, 0);
	return names;
}

TEST(names_are_listed_with_their_counts_and_switches)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(span_names_freep) struct span_names *names = NULL;
	struct span_name_state state;
	size_t at = 0;

	add_name(&b, 0, "first", 53, false);
	add_name(&b, 7, "second", 59, true);
	b.arena->names[9].used = SPAN_SLOT_FILLING;
	add_name(&b, SPAN_NAMES - 1, "last", 61, false);
	names = open_own();
	if (!names)
		return;
	CHECK(span_names_next(names, &at, &state));
	CHECK_STR(state.name, "first");
	CHECK_INT(state.count, 53);
	CHECK(!state.off);
	CHECK(span_names_next(names, &at, &state));
	CHECK_STR(state.name, "second");
	CHECK(state.off);
	CHECK(span_names_next(names, &at, &state));
	CHECK_STR(state.name, "last");
	CHECK(!span_names_next(names, &at, &state));
	CHECK(!span_names_next(names, &at, &state));
}

TEST(names_are_switched_by_a_pattern)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(span_names_freep) struct span_names *names = NULL;

	add_name(&b, 0, "read disk", 0, false);
	add_name(&b, 1, "read cache", 0, false);
	add_name(&b, SPAN_NAMES - 1, "write", 0, false);
	names = open_own();
	if (!names)
		return;
	CHECK_INT(span_names_switch(names, "read *", true), 2);
	CHECK(b.arena->names[0].off && b.arena->names[1].off &&
	      !b.arena->names[SPAN_NAMES - 1].off);
	CHECK_INT(span_names_switch(names, "* disk", false), 1);
	CHECK(!b.arena->names[0].off && b.arena->names[1].off);
	CHECK_INT(span_names_switch(names, "none", true), 0);
	CHECK(span_rules_switch_off(b.arena, "read later"));
	CHECK(!span_rules_switch_off(b.arena, "read disk"));
}

TEST(a_name_without_final_nul_is_cut)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	_cleanup_(span_names_freep) struct span_names *names = NULL;
	char longest[SPAN_NAME_MAX + 1] = "";
	struct span_name_state state = { .name = "" };
	size_t at = 0;

	memset(longest, 'x', SPAN_NAME_MAX);
	add_name(&b, 3, longest, 0, false);
	names = open_own();
	if (!names)
		return;
	CHECK(span_names_next(names, &at, &state));
	CHECK_INT(strnlen(state.name, sizeof(state.name)), SPAN_NAME_MAX - 1);
}

TEST(failed_opens_explain_why)
{
	struct span_names *names = NULL;
	struct err err;
	pid_t child = fork();

	if (child == 0)
		for (;;)
			pause();
	CHECK_INT(span_names_open(child, &names, &err), -ENOENT);
	CHECK(strstr(err.text, "has no sonde.h spans") != NULL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK_INT(span_names_open(child, &names, &err), -ESRCH);
	CHECK(strstr(err.text, "no process") != NULL);
	CHECK(names == NULL);
}

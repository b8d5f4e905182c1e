/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main - find the command, parse its options, run it, and turn the result into
 * a message on stderr and an exit code: 0 success, 1 failure, 2 usage error.
 *
 * If the reader of a pipe exits early (`sonde dump x | head`), sonde exits
 * without a message.  A handler for SIGPIPE does that rather than SIG_IGN,
 * because a command that `sonde record` starts would inherit the latter.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/mapping.h"
#include "cli/opt.h"
#include "cli/log.h"

enum { EXIT_USAGE = 2 };

extern const struct command cmd_run, cmd_record, cmd_info, cmd_dump, cmd_path, cmd_explain,
	cmd_requests, cmd_query, cmd_export, cmd_spans, cmd_doctor, cmd_top, cmd_snap, cmd_annotate,
	cmd_diagnose, cmd_learn;

static const struct command *const commands[] = {
	&cmd_top,     &cmd_annotate, &cmd_record, &cmd_snap,   &cmd_diagnose, &cmd_learn,
	&cmd_explain, &cmd_requests, &cmd_path,   &cmd_query,  &cmd_info,     &cmd_dump,
	&cmd_export,  &cmd_run,      &cmd_spans,  &cmd_doctor,
};

static const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static int command_unknown(const char *typed)
{
	const char *best = NULL;
	size_t fewest = SIZE_MAX;

	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (opt_distance(typed, commands[i]->name) < fewest) {
			fewest = opt_distance(typed, commands[i]->name);
			best = commands[i]->name;
		}
	if (best)
		log_message("unknown command '%s'; did you mean '%s'?", typed, best);
	else
		log_message("unknown command '%s'; see 'sonde help'", typed);
	return EXIT_USAGE;
}

static void print_commands(FILE *out)
{
	fputs("Usage: sonde COMMAND [OPTION]... [OPERAND]...\n"
	      "Record what threads do and wait for, and explain why a request was slow.\n\n",
	      out);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		fprintf(out, "  %-10s  %s\n", commands[i]->name, commands[i]->summary);
	fputs("\n'sonde help COMMAND' shows the options of a command.\n"
	      "\nExamples:\n"
	      "  sudo sonde top                   show which requests are slow now, and why\n"
	      "  sonde record -d 10 --port 80     record the server on port 80 for 10 s\n"
	      "  sonde diagnose capture.sonde     find out why its slow requests are slow\n",
	      out);
}

static bool is_help(const char *word)
{
	return word && (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 ||
			strcmp(word, "-h") == 0);
}

static int help(const char *name)
{
	const struct command *cmd = name ? command_find(name) : NULL;

	if (name && !cmd)
		return command_unknown(name);
	if (cmd)
		opt_help(cmd);
	else
		print_commands(stdout);
	return EXIT_SUCCESS;
}

static int report_failure(const struct command *cmd, int r, const struct err *err)
{
	size_t len = strlen(err->text);

	if (r != -EUSAGE) {
		log_message("%s", err->text);
		return EXIT_FAILURE;
	}
	if (len && err->text[len - 1] == '?') /* "did you mean ...?" */
		log_message("%s", err->text);
	else
		log_message("%s; see 'sonde %s --help'", err->text, cmd->name);
	return EXIT_USAGE;
}

static int command_run(const struct command *cmd, char **argv)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	void *opts = arena_alloc(arena, cmd->opts_size);
	struct err err = { "" };

	if (cmd->unavailable) {
		log_message("'sonde %s' is not in this build: %s", cmd->name, cmd->unavailable);
		return EXIT_FAILURE;
	}
	if (cmd->opts_size)
		memcpy(opts, cmd->defaults, cmd->opts_size);

	int r = opt_parse(cmd, argv, arena, opts, &err);
	if (r == -ECANCELED)
		return EXIT_SUCCESS;
	if (r == 0)
		r = cmd->run(opts, argv, &err);
	if (r >= 0 && mapping_lost_name())
		r = err_set(&err, -EIO, "'%s' was truncated while it was read",
			    mapping_lost_name());
	fflush(stdout); /* on a terminal, print results before the message */
	return r < 0 ? report_failure(cmd, r, &err) : EXIT_SUCCESS;
}

static int dispatch(char **argv)
{
	const char *name = argv[0];

	if (!name) {
		print_commands(stderr);
		return EXIT_USAGE;
	}
	if (is_help(name))
		return help(is_help(argv[1]) ? NULL : argv[1]);
	if (strcmp(name, "--version") == 0) {
		puts("sonde " SONDE_VERSION);
		return EXIT_SUCCESS;
	}
	if (strcmp(name, "--complete") == 0) {
		for (size_t i = 0; i < ARRAY_LEN(commands); i++)
			puts(commands[i]->name);
		puts("help");
		return EXIT_SUCCESS;
	}
	const struct command *cmd = command_find(name);
	return cmd ? command_run(cmd, argv + 1) : command_unknown(name);
}

static void stop_quietly(int signal)
{
	_exit(EXIT_FAILURE);
}

/* If one of fds 0 to 2 is closed, the next open() would return it, and sonde would use that file
 * as stdin, stdout or stderr. */
static void open_standard_files(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0)
			_exit(EXIT_FAILURE);
}

/* Only commands that need file capabilities keep them. */
static caps_set caps_needed(const char *name)
{
	const struct command *cmd = name ? command_find(name) : NULL;

	return cmd ? cmd->caps : 0;
}

int main(int argc, char **argv)
{
	struct sigaction pipe_action = { .sa_handler = stop_quietly };

	caps_init(caps_needed(argc > 1 ? argv[1] : NULL));
	open_standard_files();
	sigaction(SIGPIPE, &pipe_action, NULL);

	int code = dispatch(argc ? argv + 1 : argv);
	int r = fflush(stdout);
	if (code != EXIT_SUCCESS || (r == 0 && !ferror(stdout)))
		return code; /* on failure, one message is enough */
	log_message("cannot write to standard output: %s", r < 0 ? strerror(errno) : "short write");
	return EXIT_FAILURE;
}

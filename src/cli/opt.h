/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt - command-line options, described once.
 *
 * A command's option table drives parsing, --help and shell completion, and a
 * test compares it with the manual page.  So no option is missing from one of
 * these.
 *
 * Short options can be joined (-qd5), and long ones take their value as
 * --name=value or --name value.  Options can follow operands; `--` ends them.
 * Every command has --help and -h; they are in no table.
 */
#ifndef SONDE_CLI_OPT_H
#define SONDE_CLI_OPT_H

#include "base/arena.h"
#include "base/base.h"
#include "base/err.h"
#include "base/caps.h"

enum opt_type {
	OPT_END,
	OPT_FLAG,         /* bool */
	OPT_STRING,       /* const char * */
	OPT_INPUT_FORMAT, /* const char *: the name of an input format */
	OPT_OPTIONAL,     /* const char *: only --name=VALUE has a value, --name means "" */
	OPT_COUNT,        /* unsigned long, at least 1; 0 means that it is not given */
	OPT_PID,          /* uint32_t, at least 1; 0 means that it is not given */
	OPT_TIME,         /* nsec_t, from 5, 5s, 1.5ms, 20us, 2m; a bare number is seconds */
	OPT_SIZE,         /* uint64_t, from 4096, 64k, 2M, 1G (powers of 1024) */
	OPT_LIST,         /* struct opt_list: repeatable, and separated by commas */
};

struct opt_list {
	const char **items; /* owned by the arena of main() */
	size_t count;
};

struct opt {
	enum opt_type type;
	char short_name; /* or 0 */
	const char *name;
	const char *value; /* its name in --help, such as FILE in --output=FILE */
	const char *help;  /* a phrase without a full stop; --help wraps it */
	size_t offset;     /* of the field in the command's options struct */
};

struct command {
	const char *name;
	const char *summary;    /* one line, in the imperative, for `sonde help` */
	const char *synopsis;   /* arguments after the name: "[OPTION]... FILE" */
	const char *examples;   /* last lines of --help, each indented by two spaces */
	const struct opt *opts; /* terminated by an entry of type OPT_END */
	const void *defaults;   /* the command's options struct before parsing */
	size_t opts_size;
	size_t min_operands, max_operands;
	bool after_dashes;       /* the operands are another command line, and must follow -- */
	bool takes_command;      /* the operands are another command line; the first one ends
				  * our options, with or without -- */
	caps_set caps;           /* file capabilities that the command keeps: caps_init() */
	const char *unavailable; /* why this command is not in the build, or NULL */

	/* The operands end with NULL.  On a negative return main prints err and exits with 1,
	 * or with 2 if the return value is that of err_usage(). */
	int (*run)(const void *opts, char **operands, struct err *err);
};

/* The option --format of all commands that read inputs; its field is a const char *. */
#define OPT_FORMAT(type, field) \
	{ OPT_INPUT_FORMAT, \
	  0, \
	  "format", \
	  "NAME", \
	  "read inputs as this format instead of detecting it", \
	  offsetof(type, field) }

/* A usage error that a command itself detects: `return err_usage(err, ...)`. */
#define EUSAGE 4096 /* larger than any errno */
#define err_usage(err, ...) err_set(err, -EUSAGE, __VA_ARGS__)

/*
 * Parse argv, the arguments after the command's name up to NULL, into opts, a
 * copy of the command's defaults, and leave only the operands in argv.  Returns
 * 0, -EUSAGE, or -ECANCELED after it has printed --help or, for the shell,
 * --complete.  Lists are allocated from the arena.
 */
int opt_parse(const struct command *cmd, char **argv, struct arena *arena, void *opts,
	      struct err *err);

void opt_help(const struct command *cmd);

/* Parse the values of --option as numbers from min to max; the caller frees the array. */
int opt_numbers(const struct opt_list *list, const char *option, uint64_t min, uint64_t max,
		uint64_t **ret, struct err *err);

/* Whether to colour results: stdout is a terminal with colours, and NO_COLOR is not set. */
bool opt_colour(void);

/* The number of typing errors between typed and word; SIZE_MAX if there are too many. */
size_t opt_distance(const char *typed, const char *word);

#endif

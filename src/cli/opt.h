/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt - command-line options, described once.
 *
 * A command's option table drives parsing, --help and shell completion, and a
 * test holds the manual page to it.  So an option cannot exist in one of these
 * places and be missing from another.
 *
 * Short options may be joined (-qd5) and long ones take their value as
 * --name=value or --name value.  Options may stand behind operands; `--` ends
 * them.  --help and -h belong to every command and are in no table.
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
	OPT_INPUT_FORMAT, /* const char *: the name of a format that can be read */
	OPT_OPTIONAL,     /* const char *: "" when given without =VALUE, which only = can give */
	OPT_COUNT,        /* unsigned long, at least 1: 0 is for what was not given */
	OPT_PID,          /* uint32_t, likewise */
	OPT_TIME,         /* nsec_t, from 5, 5s, 1.5ms, 20us, 2m; a bare number is seconds */
	OPT_SIZE,         /* uint64_t, from 4096, 64k, 2M, 1G (powers of 1024) */
	OPT_LIST,         /* struct opt_list: may be given several times, and with commas */
};

struct opt_list {
	const char **items; /* live as long as main() */
	size_t count;
};

struct opt {
	enum opt_type type;
	char short_name; /* or 0 */
	const char *name;
	const char *value; /* what --help calls the value, as in --output=FILE */
	const char *help;  /* one sentence without a full stop; --help breaks its lines */
	size_t offset;     /* of the field in the command's options struct */
};

struct command {
	const char *name;
	const char *summary;    /* one line, for `sonde help` */
	const char *synopsis;   /* what stands behind the name: "[OPTION]... FILE" */
	const char *examples;   /* the last lines of --help, each indented by two blanks */
	const struct opt *opts; /* up to one of type OPT_END */
	const void *defaults;   /* the command's options struct before parsing */
	size_t opts_size;
	size_t min_operands, max_operands;
	bool after_dashes;  /* operands are a command line of its own and stand behind -- */
	bool takes_command; /* likewise, but they may stand without: all from the first on is theirs
			     */
	caps_set caps;      /* of the binary, that it keeps: see caps_init() */
	const char *missing; /* why this command was not built, or NULL */

	/* operands end with NULL; on a negative return main prints err and exits with 1,
	 * or with 2 if the return is err_usage()'s */
	int (*run)(const void *opts, char **operands, struct err *err);
};

/* The option that all commands have which read inputs; its field is a const char *. */
#define OPT_FORMAT(type, field) \
	{ OPT_INPUT_FORMAT, \
	  0, \
	  "format", \
	  "NAME", \
	  "read inputs as this format, whatever they look like", \
	  offsetof(type, field) }

/* For a command that finds by itself that it was called wrongly: `return err_usage(err, ...)`. */
#define EUSAGE 4096 /* no errno is as large */
#define err_usage(err, ...) err_set(err, -EUSAGE, __VA_ARGS__)

/*
 * Fill opts, a copy of the command's defaults, from argv, which ends with NULL
 * and holds what stands behind the command's name; leave the operands in argv.
 * Returns 0, -EUSAGE, or -ECANCELED when it has printed --help (or, for the
 * shell, --complete) and nothing is left to do.  Lists come from the arena.
 */
int opt_parse(const struct command *cmd, char **argv, struct arena *arena, void *opts,
	      struct err *err);

void opt_help(const struct command *cmd);

/* The numbers in a list that --option gave, each from min to max; the caller frees them. */
int opt_numbers(const struct opt_list *list, const char *option, uint64_t min, uint64_t max,
		uint64_t **ret, struct err *err);

/* Whether results may have colours: stdout is a terminal that has some, and NO_COLOR is not set. */
bool opt_colour(void);

/* How many slips lie between what was typed and a word; SIZE_MAX if that is not what was meant. */
size_t opt_distance(const char *typed, const char *word);

#endif

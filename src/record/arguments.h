/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arguments - mask secrets in command lines.
 *
 * Command lines contain passwords and tokens, and captures are copied and mailed.  So values that
 * look like secrets are replaced by *** before they are written to a capture:
 *
 *	--password=X  --token X  -Ddb.password=X  PGPASSWORD=X	by the name of the key
 *	mysql -pX  redis-cli -a X  curl -u user:X		by the program and its option
 *	scheme://user:X@host  user:X@host  ?api_key=X		in addresses
 *	Authorization: X  Bearer X  {"password": "X"}		in headers and JSON
 *	ghp_X  AKIAX  eyJX					by the value itself
 *
 * Names of scripts, paths, ports and numbers are kept, because they identify a process.  This is a
 * heuristic and misses secrets without such a mark.  --no-arguments stores no arguments at all.
 */
#ifndef SONDE_RECORD_ARGUMENTS_H
#define SONDE_RECORD_ARGUMENTS_H

#include "base/base.h"
#include "base/view.h"

/* Join arguments, NUL-terminated as in /proc/PID/cmdline, with blanks; the caller frees. */
char *arguments_mask(const char *words, size_t len);

/* Only the program: the first argument, up to a blank in it; the caller frees. */
char *arguments_program(const char *words, size_t len);

enum secret {
	SECRET_NO,
	SECRET_PAIR, /* user:password, of which the password is secret */
	SECRET_WEAK, /* secret unless it is a path or a small number */
	SECRET_YES,
};

/* Whether the value of an option, variable, header or field with this name is a secret. */
enum secret arguments_classify_key(struct view key);

#endif

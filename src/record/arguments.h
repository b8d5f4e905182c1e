/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arguments - command lines as a capture stores them.
 *
 * Command lines hold passwords and tokens, and captures are copied and mailed.  So values that
 * look like secrets are replaced by *** before they reach the disk:
 *
 *	--password=X  --token X  -Ddb.password=X  PGPASSWORD=X	by the name of the key
 *	mysql -pX  redis-cli -a X  curl -u user:X		by the program and its option
 *	scheme://user:X@host  user:X@host  ?api_key=X		in addresses
 *	Authorization: X  Bearer X  {"password": "X"}		in headers and JSON
 *	ghp_X  AKIAX  eyJX					by the value itself
 *
 * Names of scripts, paths, ports and numbers stay, since they identify a process.  This is a
 * heuristic: a secret that nothing marks as one is stored.  --no-arguments stores none.
 */
#ifndef SONDE_RECORD_ARGUMENTS_H
#define SONDE_RECORD_ARGUMENTS_H

#include "base/base.h"
#include "base/view.h"

/* The words, each ended by NUL as in /proc/PID/cmdline, with blanks between; the caller frees. */
char *arguments_mask(const char *words, size_t len);

/* The program alone: the first word, up to a blank in it. */
char *arguments_program(const char *words, size_t len);

enum secret {
	SECRET_NO,
	SECRET_PAIR, /* user:password: what is behind the colon */
	SECRET_WEAK, /* unless the value is a path or a small number */
	SECRET_YES,
};

/* What the name of an option, variable, header or field says about its value. */
enum secret arguments_classify_key(struct view key);

#endif

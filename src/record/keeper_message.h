/* SPDX-License-Identifier: Apache-2.0 */
/* keeper_message - what a reader and its keeper (keeper.h) exchange, and the keeper itself. */
#ifndef SONDE_RECORD_KEEPER_MESSAGE_H
#define SONDE_RECORD_KEEPER_MESSAGE_H

#include "record/record.h"

enum keeper_message_kind {
	KEEPER_START = 1, /* to the keeper: start a recorder; nothing else in the message counts */
	KEEPER_STARTED = 2, /* to the reader, with the descriptor of the stream */
	KEEPER_REFUSED = 3, /* to the reader: status is a negative errno, text the reason */
	KEEPER_ENDED = 4,   /* to the reader: status is that of waitpid(), text an error message */
};

struct keeper_message {
	uint32_t kind;
	int32_t status;
	char text[504];
};

/* The keeper, after the fork. */
__attribute__((noreturn)) void keeper_main(const struct record_options *options, int control);

#endif

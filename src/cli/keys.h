/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys - from the bytes of a terminal to keys.
 *
 * Special keys are escape sequences, and the key Esc is a prefix of them.  So an Esc at the end of
 * the input is a key only after the terminal has been silent for KEYS_PAUSE, which is the time the
 * rest of a sequence can take over a network.  Unknown sequences and malformed bytes are skipped.
 */
#ifndef SONDE_CLI_KEYS_H
#define SONDE_CLI_KEYS_H

#include "base/base.h"

/* A key is the code point of a character, or one of these. */
enum {
	KEY_NONE = 0,
	KEY_ENTER = '\r',
	KEY_ESC = 0x1b,
	KEY_BACKSPACE = 0x7f,
	KEY_CTRL_C = 3,
	KEY_CTRL_L = 12,
	KEY_CTRL_U = 21,
	KEY_UP = 0x110000, /* above all code points */
	KEY_DOWN,
	KEY_RIGHT,
	KEY_LEFT,
	KEY_HOME,
	KEY_END,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
};

enum { KEYS_PAUSE = 50 }; /* ms */

struct keys {
	char bytes[256];
	size_t count;
};

/* Appends bytes; what does not fit is dropped, since no one types so far ahead. */
void keys_feed(struct keys *k, const char *bytes, size_t count);

/* The next key; KEY_NONE if there is none, or only the beginning of one.  `is_silent`: see above.
 */
uint32_t keys_next(struct keys *k, bool is_silent);

#endif

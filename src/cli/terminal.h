/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal - a full-screen terminal, and its restoration on every way out.
 *
 * While the screen is open, the terminal shows its alternate screen and passes each key at once.
 * terminal_close() restores it; if the program exits or crashes before, a handler does.  Signals
 * come through a descriptor, which can be waited for together with keys: a change of the window's
 * size, Ctrl-Z and the return from it, and the requests to end.
 *
 * There is no ncurses: drawing a screen takes ten fixed sequences, which every terminal in use
 * knows, and grid_draw() makes one string of it.  So there is no dependency, no terminfo database
 * that a container may lack, and no library between a hostile name and the terminal.
 */
#ifndef SONDE_CLI_TERMINAL_H
#define SONDE_CLI_TERMINAL_H

#include "base/err.h"
#include "cli/keys.h"

struct terminal {
	int signals; /* signalfd */
	int wait;    /* epoll: readable if there are keys or signals */
	struct keys keys;
	size_t columns, rows;
};

/* Whether stdout is a terminal that can show a screen, and keys can be read from it. */
bool terminal_usable(void);
/* Whether it shows UTF-8, by the environment: a host without locales can have such a terminal. */
bool terminal_is_utf8(void);

int terminal_open(struct terminal *t, struct err *err);
void terminal_close(struct terminal *t);

enum terminal_event {
	TERMINAL_NOTHING,
	TERMINAL_KEY,    /* *ret_key */
	TERMINAL_REDRAW, /* the size has changed, or the screen was left and is back */
	TERMINAL_END,    /* a signal asks to end, or the terminal is gone */
};

/* The next event; if there is none, wait until t->wait is readable. */
enum terminal_event terminal_next(struct terminal *t, uint32_t *ret_key);

/* Shows the drawn rows of a screen; negative errno. */
int terminal_show(const char *bytes, size_t count);

#endif

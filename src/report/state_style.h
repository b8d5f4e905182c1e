/* SPDX-License-Identifier: Apache-2.0 */
/* state_style - how states look in text: short words, and a colour. */
#ifndef SONDE_REPORT_STATE_STYLE_H
#define SONDE_REPORT_STATE_STYLE_H

#include "base/base.h"

/* The letter of a state: a record can contain any byte as one, which becomes '?'. */
char state_letter(char state);

/* Shorter than state_words(): "disk", "run queue". */
const char *state_label(char state);

/* The code of a terminal: green for running, yellow for runnable, red for locks and disks. */
const char *state_colour(char state);

#endif

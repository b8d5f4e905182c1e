/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_state - decodes the task state in sched_switch.
 *
 * Linux 4.14 renumbered the task states: 64 meant "dead" and now means "parked"; 128
 * modified other states (a killable sleep was 130) and now means "idle kernel thread".
 * Since 4.14 a state has only one bit set; but up to 4.19.7, ftrace and perf report
 * each state shifted left by one bit, and a runnable thread as 1.  The idle task
 * reveals this, as it is always runnable.
 *
 * The numbering follows from the letters in the print format of sched_switch, or
 * from the kernel release.  If the trace contains neither, the numbering of 4.14 is
 * assumed until a number with two bits proves that the kernel is older.
 */
#ifndef SONDE_READ_RAW_STATE_H
#define SONDE_READ_RAW_STATE_H

#include "base/base.h"

enum { RAW_STATE_BITS = 12 };

struct raw_states {
	uint8_t bits[RAW_STATE_BITS]; /* meaning of each bit: enum raw_task_state, or 0 */
	bool are_numbers;             /* otherwise states are enum raw_task_state already */
	bool known;                   /* from the trace */
	bool shifted;                 /* left by one bit, as far as is known */
	bool doubtful;                /* unknown, and a number was read that depends on it */
};

/* By a release such as "4.4.3-1-ARCH"; NULL if it is unknown. */
struct raw_states raw_states_of_release(const char *release);

/* The releases whose ftrace reports states that are too high. */
bool raw_states_are_shifted(const char *release);

/* By the flags in a print format: { 1, "S" }, ...; false if there are none. */
bool raw_states_of_format(const char *text, size_t len, struct raw_states *ret);

/* Converts a number to enum raw_task_state; is_idle if it is the idle task's. */
uint64_t raw_state_read(struct raw_states *states, uint64_t number, bool is_idle);

/* Converts a state letter to enum raw_task_state; -1 if there is no such letter. */
int raw_state_of_letter(char letter);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_state - what the number means with which a thread leaves its CPU.
 *
 * Linux 4.14 renumbered the task states that sched_switch reports: 64 was a dead
 * thread and is a parked one now, 128 was an addition to other states (a killable
 * sleep is 130) and is an idle kernel thread now.  From 4.14 on, a number has only
 * one bit; but up to 4.19.7, ftrace and perf report each state one bit too high, and
 * a runnable thread as 1.  The idle task gives that away: it is always runnable.
 *
 * A trace shows its numbering by the letters in the print format of sched_switch,
 * or by the release of its kernel.  If it has neither, the numbering since 4.14 is
 * assumed until a number with two bits proves that it is an older one.
 */
#ifndef SONDE_READ_RAW_STATE_H
#define SONDE_READ_RAW_STATE_H

#include "base/base.h"

enum { RAW_STATE_BITS = 12 };

struct raw_states {
	uint8_t bits[RAW_STATE_BITS]; /* meaning of each bit: enum raw_task_state, or 0 */
	bool are_numbers;             /* otherwise states are enum raw_task_state already */
	bool known;                   /* from the trace */
	bool shifted;                 /* too high by one bit, as far as is known */
	bool doubtful;                /* unknown, and a number was read that depends on it */
};

/* By a release such as "4.4.3-1-ARCH"; NULL if it is unknown. */
struct raw_states raw_states_of_release(const char *release);

/* The releases whose ftrace reports states that are too high. */
bool raw_states_are_shifted(const char *release);

/* By the flags in a print format: { 1, "S" }, ...; false if there are none. */
bool raw_states_of_format(const char *text, size_t len, struct raw_states *ret);

/* enum raw_task_state of a number; of the idle task if is_idle. */
uint64_t raw_state_read(struct raw_states *states, uint64_t number, bool is_idle);

/* What a letter of the kernel stands for: enum raw_task_state, or -1 if there is no such letter. */
int raw_state_of_letter(char letter);

#endif

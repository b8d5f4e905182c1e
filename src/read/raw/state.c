/* SPDX-License-Identifier: Apache-2.0 */
#include "read/raw/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/raw/raw.h"

/* The letters of the bits, lowest bit first. */
static const char before_4_14[] = "SDTtXZxKWPNn", since_4_14[] = "SDTtXZPI";

int raw_state_of_letter(char letter)
{
	switch (letter) {
	case 'S':
		return RAW_STATE_SLEEP;
	case 'D':
		return RAW_STATE_DISK;
	case 'T':
		return RAW_STATE_STOPPED;
	case 't':
		return RAW_STATE_TRACED;
	case 'P':
		return RAW_STATE_PARKED;
	case 'I':
		return RAW_STATE_IDLE;
	case 'X':
	case 'x':
		return RAW_STATE_DEAD;
	case 'Z':
		return RAW_STATE_ZOMBIE;
	case 'R':
	case 'K': /* killable, in addition to another state */
	case 'W':
	case 'N':
	case 'n':
		return 0;
	default:
		return -1;
	}
}

static struct raw_states states_of_letters(const char *letters)
{
	struct raw_states states = { .are_numbers = true };

	for (size_t i = 0; letters[i]; i++)
		states.bits[i] = raw_state_of_letter(letters[i]);
	return states;
}

/* 414005 for "4.14.5-amd64"; 0 if the release has another form. */
static unsigned release_number(const char *release)
{
	unsigned major = 0, minor = 0, patch = 0;

	if (!release || sscanf(release, "%2u.%2u.%3u", &major, &minor, &patch) < 2)
		return 0;
	return major * 100000 + minor * 1000 + patch;
}

struct raw_states raw_states_of_release(const char *release)
{
	unsigned number = release_number(release);
	struct raw_states states =
		states_of_letters(number && number < 414000 ? before_4_14 : since_4_14);

	states.known = number != 0;
	return states;
}

bool raw_states_are_shifted(const char *release)
{
	unsigned number = release_number(release);

	return (number >= 414004 && number < 414086) || (number >= 415000 && number < 419008);
}

/* Parses { 0x40, "P" } at s; false if the text has another form. */
static bool read_flag(const char *s, const char *end, struct raw_states *states)
{
	char text[32] = "", *rest;
	size_t len = (size_t)(end - s) < sizeof(text) - 1 ? (size_t)(end - s) : sizeof(text) - 1;

	memcpy(text, s, len);

	unsigned long number = strtoul(text + 1, &rest, 0);

	rest += strspn(rest, ", ");
	if (rest[0] != '"' || rest[1] == '\0' || rest[2] != '"' || !number ||
	    number & (number - 1) || number >= 1ul << RAW_STATE_BITS ||
	    raw_state_of_letter(rest[1]) < 0)
		return false;
	states->bits[__builtin_ctzl(number)] = raw_state_of_letter(rest[1]);
	return true;
}

bool raw_states_of_format(const char *text, size_t len, struct raw_states *ret)
{
	static const char flags[] = "__print_flags(REC->prev_state";
	const char *at = memmem(text, len, flags, strlen(flags)), *end = text + len;
	struct raw_states states = { .are_numbers = true, .known = true };
	unsigned found = 0;

	while (at && (at = memchr(at, '{', end - at)))
		found += read_flag(at++, end, &states);
	if (found < strlen("SDTt"))
		return false;
	*ret = states;
	return true;
}

/* Decides between the numberings if the trace does not contain it. */
static void infer_numbering(struct raw_states *states, uint64_t number)
{
	bool several = number & (number - 1);

	if (several)
		*states = states_of_letters(before_4_14);
	states->known = several;
	states->doubtful |= !several && number & (RAW_STATE_PARKED | RAW_STATE_IDLE);
}

uint64_t raw_state_read(struct raw_states *states, uint64_t number, bool is_idle)
{
	enum { PREEMPTED = 256 }; /* if shifted; also an idle kernel thread, but that is rare */
	uint64_t state = 0;

	if (is_idle)
		states->shifted = number == RAW_STATE_SLEEP;
	if (states->shifted)
		number = number & PREEMPTED ? 0 : number >> 1;
	if (!states->are_numbers)
		return number;
	number &= (1 << RAW_STATE_BITS) - 1;
	if (!states->known)
		infer_numbering(states, number);
	for (; number; number &= number - 1)
		state |= states->bits[__builtin_ctzll(number)];
	return state;
}

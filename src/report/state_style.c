/* SPDX-License-Identifier: Apache-2.0 */
#include "report/state_style.h"

#include <string.h>

#include "event/event.h"
#include "event/kind.h"

char state_letter(char state)
{
	return state && strchr(state_letters, state) ? state : '?';
}

const char *state_label(char state)
{
	switch (state) {
	case STATE_RUNNING:
		return "running";
	case STATE_DISK:
		return "disk";
	case STATE_NETWORK:
		return "network";
	case STATE_TIMER:
		return "timer";
	case STATE_LOCK:
		return "lock";
	case STATE_PROCESS:
		return "process";
	case STATE_USER:
		return "user";
	case STATE_READY:
		return "run queue";
	case STATE_THROTTLED:
		return "CPU quota";
	default:
		return "unknown";
	}
}

const char *state_colour(char state)
{
	switch (state) {
	case STATE_RUNNING:
		return "\033[32m";
	case STATE_READY:
	case STATE_THROTTLED:
		return "\033[33m";
	case STATE_LOCK:
	case STATE_DISK:
		return "\033[31m";
	default:
		return "\033[36m";
	}
}

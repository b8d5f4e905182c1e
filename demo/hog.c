/* SPDX-License-Identifier: Apache-2.0 */
/* hog - wants a CPU, always, and gives nothing back. */
#include "net.h"

int main(void)
{
	live_briefly();
	for (volatile unsigned turns = 0;; turns++)
		;
}

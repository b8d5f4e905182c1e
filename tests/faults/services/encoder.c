// SPDX-License-Identifier: Apache-2.0
/* encoder - compute for 70 ms out of 300 ms. */
#include "http.h"

int main(void)
{
	for (;;) {
		spin_us(70000);
		sleep_ms(230);
	}
}

// SPDX-License-Identifier: Apache-2.0
/* batch - compute without end. */
#include "http.h"

int main(void)
{
	for (;;)
		spin_us(1000);
}

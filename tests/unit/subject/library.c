/* SPDX-License-Identifier: Apache-2.0 */
#include "subject.h"

__attribute__((noinline)) static void library_static(int depth)
{
	MARK("library_static");
	if (depth > 0)
		library_outer(depth - 1);
}

void library_outer(int depth)
{
	library_static(depth);
	MARK("library_outer");
}

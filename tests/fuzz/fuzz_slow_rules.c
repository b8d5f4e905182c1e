/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a file with rules; its start is also the name of a service and of an operation. */
#include <assert.h>

#include "relay/slow.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_(slow_freep) struct slow *slow = NULL;
	struct view text = { (const char *)bytes, size },
		    name = { text.s, size < 300 ? size : 300 };
	struct err err = { "" };
	nsec_t limit;

	assert(slow_new("p50", &slow, &err) == 0);
	int r = slow_set_rules(slow, "fuzz", text, &err);

	assert(r == 0 ? !err.text[0] : r < 0 && err.text[0]);
	for (int i = 0; i < 30; i++)
		if (slow_exceeded(slow, name, name, size, &limit))
			assert(size > limit);
	return 0;
}

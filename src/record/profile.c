/* SPDX-License-Identifier: Apache-2.0 */
#include "record/profile.h"

enum { TOO_FEW = 10 }; /* below that, chance decides */

uint64_t profile_due(unsigned long hz, nsec_t elapsed)
{
	return (uint64_t)((double)hz * (double)elapsed / NSEC_PER_SEC);
}

uint64_t profile_missing(uint64_t due, uint64_t taken)
{
	return due < TOO_FEW || taken >= due / 2 ? 0 : due - taken;
}

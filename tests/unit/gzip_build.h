/* SPDX-License-Identifier: Apache-2.0 */
/* gzip_build - a compressed body. */
#ifndef SONDE_TESTS_GZIP_BUILD_H
#define SONDE_TESTS_GZIP_BUILD_H

#include "relay/gzip.h"

/* The caller frees it with pb_buffer_done(). */
static inline void gzip_build(struct view plain, struct pb_buffer *ret)
{
	_cleanup_(gzip_packer_freep) struct gzip_packer *packer = gzip_packer_new();

	*ret = (struct pb_buffer){ 0 };
	gzip_pack(packer, plain, ret);
}

#endif

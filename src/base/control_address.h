/* SPDX-License-Identifier: Apache-2.0 */
/* control_address - the address of a control socket; private to control. */
#ifndef SONDE_BASE_CONTROL_ADDRESS_H
#define SONDE_BASE_CONTROL_ADDRESS_H

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* A path, or '@' and an abstract name.  Its size, or -ENAMETOOLONG. */
static inline int control_address(const char *address, struct sockaddr_un *ret)
{
	size_t len = strlen(address);

	if (len >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret->sun_path, address, len);
	if (address[0] != '@')
		return sizeof(*ret);
	ret->sun_path[0] = '\0';
	return offsetof(struct sockaddr_un, sun_path) + len;
}

#endif

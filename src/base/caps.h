/* SPDX-License-Identifier: Apache-2.0 */
/*
 * caps - the capabilities of the binary, and the user behind sudo.
 *
 * A binary with file capabilities or a set-user-ID bit gives its privileges to everybody who may
 * execute it.  Only recording needs them.  All other commands drop them at startup; commands that
 * record keep them permitted but not effective, and raise them only around the calls that need
 * them, so that files named by the user are opened with the user's own permissions.
 *
 * A binary with capabilities that every user may execute is a misconfiguration: its capabilities
 * are dropped.  Root is not restricted.
 */
#ifndef SONDE_BASE_CAPS_H
#define SONDE_BASE_CAPS_H

#include <sys/types.h>

#include "base/base.h"

/* A set of capabilities: bit n is capability n of <linux/capability.h>. */
typedef uint64_t caps_set;
#define CAP_BIT(capability) ((caps_set)1 << (capability))

/*
 * Call first in main(): switch to the real user and group, and drop all capabilities except
 * `keep`, which become permitted but not effective.  Exits on failure.
 */
void caps_init(caps_set keep);

/* Whether the binary's capabilities were dropped because every user may execute it. */
bool caps_refused(void);

/* The permitted capabilities. */
caps_set caps_permitted(void);

/* Set the permitted and effective capabilities; negative errno on failure. */
int caps_limit(caps_set permitted, caps_set effective);

/* Make all permitted capabilities effective, or none.  No effect for root. */
void caps_raise(void);
void caps_lower(void);

/* The user who called sudo; false if sudo was not used. */
bool caps_sudo_user(uid_t *ret_uid, gid_t *ret_gid);

/* Whether the uid is that of this process or of the user who called sudo. */
bool caps_is_own_user(uid_t uid);

/* Change the owner of a new file to the user who called sudo, if possible.  Returns fd. */
int caps_give_file(int fd);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rights - what the user who called may do, and what this binary may do beyond that.
 *
 * A binary with file capabilities, or with a set-user-ID bit, lends its rights to whoever calls it.
 * Those are for recording alone.  All other commands give them up first thing; commands that
 * record keep them aside (permitted, but not effective) and raise them only around what needs them,
 * so that files which the user names are opened with the rights of the user.
 *
 * Rights that anybody may borrow are not used at all: a binary that every user may execute gives
 * none.  Root is not restricted: root's rights are its own.
 */
#ifndef SONDE_BASE_CAPS_H
#define SONDE_BASE_CAPS_H

#include <sys/types.h>

#include "base/base.h"

/* A set of capabilities; bits as CAP_... in <linux/capability.h>. */
typedef uint64_t caps_set;
#define CAP_BIT(capability) ((caps_set)1 << (capability))

/*
 * Call first in main().  Takes the real user and group, and gives up all capabilities but these.
 * Ends the program if that fails.
 */
void caps_init(caps_set keep);

/* Whether the binary lends rights that are not used, as every user may execute it. */
bool caps_refused(void);

/* Capabilities that are there to be raised. */
caps_set caps_permitted(void);

/* Set both permitted and effective ones; negative errno on failure. */
int caps_limit(caps_set permitted, caps_set effective);

/* Make all that is permitted effective, and back.  Root always has all. */
void caps_raise(void);
void caps_lower(void);

/* The user who called sudo; false if none did. */
bool caps_sudo_user(uid_t *ret_uid, gid_t *ret_gid);

/* Whether a file of this user is ours: our own, or of the user who called sudo. */
bool caps_is_own_user(uid_t uid);

/* Give a new file to the user who called sudo, if one did and it can be done.  Returns fd. */
int caps_give_file(int fd);

#endif

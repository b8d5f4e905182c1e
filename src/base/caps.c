/* SPDX-License-Identifier: Apache-2.0 */
#include "base/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/text.h"

struct cap_words {
	struct __user_cap_data_struct low, high;
};

static int cap_call(long nr, struct cap_words *words)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(nr, &head, words) < 0 ? -errno : 0;
}

caps_set caps_permitted(void)
{
	struct cap_words words = { 0 };

	if (cap_call(SYS_capget, &words) < 0)
		return 0;
	return (caps_set)words.high.permitted << 32 | words.low.permitted;
}

int caps_limit(caps_set permitted, caps_set effective)
{
	struct cap_words words = {
		.low = { .permitted = (uint32_t)permitted, .effective = (uint32_t)effective },
		.high = { .permitted = permitted >> 32, .effective = effective >> 32 },
	};

	return cap_call(SYS_capset, &words);
}

static bool is_root(void)
{
	return getuid() == 0;
}

void caps_raise(void)
{
	caps_set permitted = caps_permitted();

	if (!is_root())
		caps_limit(permitted, permitted);
}

void caps_lower(void)
{
	if (!is_root())
		caps_limit(caps_permitted(), 0);
}

bool caps_refused(void)
{
	struct stat st;

	return getauxval(AT_SECURE) && !is_root() &&
	       (stat("/proc/self/exe", &st) < 0 || st.st_mode & S_IXOTH);
}

static int drop_all_but(caps_set keep)
{
	caps_set had = caps_permitted();
	uid_t uid = getuid();
	gid_t gid = getgid();

	if (caps_refused())
		keep = 0;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (int cap = 0; cap < 64; cap++) /* best effort: it needs CAP_SETPCAP */
		if (!(keep & CAP_BIT(cap)))
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	if (prctl(PR_SET_KEEPCAPS, 1) < 0 || setresgid(gid, gid, gid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		return -errno;
	return caps_limit(had & keep, 0);
}

void caps_init(caps_set keep)
{
	int r = is_root() ? 0 : drop_all_but(keep);

	if (r < 0) {
		fprintf(stderr, "sonde: cannot drop privileges: %s\n", strerror(-r));
		_exit(EXIT_FAILURE);
	}
}

bool caps_sudo_user(uid_t *ret_uid, gid_t *ret_gid)
{
	const char *uid = secure_getenv("SUDO_UID"), *gid = secure_getenv("SUDO_GID");
	uint64_t u, g;

	if (!is_root() || !uid || !gid || parse_count(uid, UINT32_MAX - 1, &u) < 0 ||
	    parse_count(gid, UINT32_MAX - 1, &g) < 0 || u == 0)
		return false;
	*ret_uid = u;
	*ret_gid = g;
	return true;
}

bool caps_is_own_user(uid_t uid)
{
	uid_t sudo_uid;
	gid_t sudo_gid;

	return uid == geteuid() || (caps_sudo_user(&sudo_uid, &sudo_gid) && uid == sudo_uid);
}

int caps_give_file(int fd)
{
	uid_t uid;
	gid_t gid;

	if (caps_sudo_user(&uid, &gid) && fchown(fd, uid, gid) < 0)
		return fd; /* not all file systems store owners */
	return fd;
}

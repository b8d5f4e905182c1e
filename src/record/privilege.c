/* SPDX-License-Identifier: Apache-2.0 */
#include "record/privilege.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/rights.h"

struct cap_sets {
	struct __user_cap_data_struct words[2];
};

static int cap_call(long nr, struct cap_sets *sets)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(nr, &head, sets->words);
}

bool privilege_has(int capability)
{
	struct cap_sets sets = { 0 };

	if (cap_call(SYS_capget, &sets) < 0)
		return false;
	return sets.words[capability / 32].effective >> (capability % 32) & 1;
}

int privilege_check(struct err *err)
{
	if (privilege_has(CAP_SYS_ADMIN) || (privilege_has(CAP_BPF) && privilege_has(CAP_PERFMON)))
		return 0;
	return err_set(err, -EPERM,
		       "recording needs CAP_BPF and CAP_PERFMON: run as root, or once "
		       "'setcap cap_bpf,cap_perfmon,cap_dac_read_search,cap_sys_ptrace,"
		       "cap_checkpoint_restore,cap_syslog+ep' on the sonde binary");
}

static void cap_keep(struct cap_sets *sets, int capability)
{
	sets->words[capability / 32].permitted |= 1u << (capability % 32);
	sets->words[capability / 32].effective |= 1u << (capability % 32);
}

int privilege_drop(unsigned int keep_for, struct err *err)
{
	struct cap_sets had = { 0 }, keep = { 0 };
	uid_t uid;
	gid_t gid;

	if (cap_call(SYS_capget, &had) < 0)
		return err_errno(err, "cannot read our capabilities");
	if (keep_for & PRIVILEGE_PROCESSES) {
		cap_keep(&keep, CAP_SYS_PTRACE);
		cap_keep(&keep, CAP_DAC_READ_SEARCH);
		cap_keep(&keep, CAP_CHECKPOINT_RESTORE);
	}
	if (keep_for & PRIVILEGE_BPF)
		cap_keep(&keep, CAP_BPF);
	for (size_t i = 0; i < ARRAY_LEN(keep.words); i++) {
		keep.words[i].permitted &= had.words[i].permitted;
		keep.words[i].effective &= had.words[i].permitted;
	}
	if (prctl(PR_SET_KEEPCAPS, 1) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_errno(err, "cannot give up privileges");
	if (rights_sudo_user(&uid, &gid) &&
	    (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
	     setresuid(uid, uid, uid) < 0))
		return err_errno(err, "cannot become the user who called sudo");
	if (cap_call(SYS_capset, &keep) < 0)
		return err_errno(err, "cannot give up capabilities");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "record/privilege.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "record/confine.h"

#define SET_UP \
	"'chgrp GROUP sonde', 'chmod 0750 sonde', and 'setcap cap_bpf,cap_perfmon," \
	"cap_dac_read_search,cap_sys_ptrace,cap_checkpoint_restore,cap_syslog,cap_sys_nice+p " \
	"sonde'"

/* The range that systemd uses for services with DynamicUser=. */
enum { ID_FIRST = 61184, ID_COUNT = 4336, ID_NOBODY = 65534 };

bool privilege_has(int capability)
{
	return caps_permitted() & CAP_BIT(capability);
}

int privilege_check(struct err *err)
{
	if (privilege_has(CAP_SYS_ADMIN) || (privilege_has(CAP_BPF) && privilege_has(CAP_PERFMON)))
		return 0;
	if (caps_refused())
		return err_set(err, -EPERM,
			       "sonde ignores its file capabilities because every user may execute "
			       "it: restrict it to a group with " SET_UP);
	return err_set(err, -EPERM,
		       "recording needs CAP_BPF and CAP_PERFMON: run as root, or allow a group "
		       "to record with " SET_UP);
}

/* A user id without processes.  The search starts at a different id each time. */
static uid_t unused_id(void)
{
	bool used[ID_COUNT] = { false };
	DIR *proc = opendir("/proc");
	size_t at = (size_t)getpid() % ID_COUNT;
	struct stat st;

	for (struct dirent *e; proc && (e = readdir(proc));)
		if (fstatat(dirfd(proc), e->d_name, &st, 0) == 0 && st.st_uid >= ID_FIRST &&
		    st.st_uid - ID_FIRST < ID_COUNT)
			used[st.st_uid - ID_FIRST] = true;
	if (proc)
		closedir(proc);
	for (size_t i = 0; i < ID_COUNT && used[at]; i++)
		at = (at + 1) % ID_COUNT;
	return ID_FIRST + at;
}

static bool become(uid_t uid, gid_t gid)
{
	return setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
	       setresuid(uid, uid, uid) == 0;
}

/* In a user namespace with few ids, only "nobody" may be mapped. */
static int leave_root(struct err *err)
{
	const uid_t ids[] = { unused_id(), ID_NOBODY };

	if (prctl(PR_SET_KEEPCAPS, 1) < 0)
		return err_errno(err, "cannot drop privileges");
	for (size_t i = 0; i < ARRAY_LEN(ids); i++)
		if (become(ids[i], ids[i]))
			return 0;
	err_errno(err, "running as root: cannot change the user id");
	return 1;
}

static caps_set caps_for(unsigned int keep_for, bool command)
{
	caps_set keep = 0;

	if (keep_for & PRIVILEGE_PROCESSES)
		keep |= CAP_BIT(CAP_SYS_PTRACE) | CAP_BIT(CAP_DAC_READ_SEARCH) |
			CAP_BIT(CAP_CHECKPOINT_RESTORE);
	if (keep_for & PRIVILEGE_BPF)
		keep |= CAP_BIT(CAP_BPF);
	if (keep_for & PRIVILEGE_ATTACH)
		keep |= CAP_BIT(CAP_BPF) | CAP_BIT(CAP_PERFMON);
	if (command && geteuid() == 0) /* the command runs as root; confine.h limits the signals */
		keep |= CAP_BIT(CAP_KILL);
	return keep & caps_permitted();
}

/* Capabilities and seccomp filters are per thread; threads started later inherit them. */
static bool is_single_threaded(void)
{
	struct stat st;

	return stat("/proc/self/task", &st) < 0 || st.st_nlink <= 3; /* with . and .. */
}

/* Best effort: it needs CAP_SETPCAP. */
static void drop_bounds(caps_set keep)
{
	for (int cap = 0; cap < 64; cap++)
		if (!(keep & CAP_BIT(cap)))
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

/* Neither this process nor its children can get privileges that they do not have. */
static int keep_only(caps_set keep, struct err *err)
{
	int r = caps_limit(keep, keep);

	if (r < 0)
		return err_set(err, r, "cannot drop capabilities: %s", strerror(-r));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_errno(err, "cannot drop privileges");
	return 0;
}

int privilege_drop(unsigned int keep_for, pid_t command, int stream, struct err *err)
{
	caps_set keep = caps_for(keep_for, command > 0);
	int left = 0;

	assert(is_single_threaded());
	drop_bounds(keep);
	if (geteuid() == 0)
		left = leave_root(err);
	if (left < 0)
		return left;

	int r = keep_only(keep, err);

	if (r == 0)
		r = confine_recorder(command, stream, keep_for & PRIVILEGE_ATTACH, err);
	return r < 0 ? r : left;
}

/* Without any capability, as this user, or an unused one; then confined. */
static int drop_all(uid_t uid, gid_t gid, int (*confine)(struct err *err), struct err *err)
{
	int left = 0;

	assert(is_single_threaded());
	drop_bounds(0);
	if (geteuid() == 0 && (!uid || !become(uid, gid)))
		left = leave_root(err);
	if (left < 0)
		return left;

	int r = keep_only(0, err);

	if (r == 0)
		r = confine(err);
	return r < 0 ? r : left;
}

int privilege_drop_reader(uid_t uid, gid_t gid, struct err *err)
{
	return drop_all(uid, gid, confine_reader, err);
}

int privilege_drop_relay(struct err *err)
{
	return drop_all(0, 0, confine_relay, err);
}

int privilege_limit_keeper(bool events, struct err *err)
{
	/* the last three are for the recorder, which drops its privileges by itself */
	caps_set keep = PRIVILEGE_CAPS | CAP_BIT(CAP_KILL) | CAP_BIT(CAP_SETUID) |
			CAP_BIT(CAP_SETGID) | CAP_BIT(CAP_SETPCAP);

	if (events)
		keep |= CAP_BIT(CAP_SYS_ADMIN);
	keep &= caps_permitted();
	drop_bounds(keep);

	/* as for any command, effective only where they are needed (base/caps.h) */
	int r = caps_limit(keep, geteuid() == 0 ? keep : 0);

	if (r < 0)
		return err_set(err, r, "cannot drop capabilities: %s", strerror(-r));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_errno(err, "cannot drop privileges");
	return confine_keeper(err);
}

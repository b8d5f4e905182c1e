/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * object - the objects that threads wait on or send to: files, sockets, pipes,
 * futexes.
 *
 * Records refer to an object by a number.  A FILE or SOCKET record describes it
 * once; a small hash table remembers the described objects.  If two objects share
 * a slot, they evict each other and are described again, which costs only space.
 */
#ifndef SONDE_BPF_OBJECT_BPF_H
#define SONDE_BPF_OBJECT_BPF_H

#include "bpf/fault.bpf.h"
#include "bpf/memory.bpf.h"

enum { REPORTED_SLOTS = 1 << 12 };
enum { NR_FCNTL = 72, NR_FLOCK = 73, NR_FUTEX = 202, NR_FUTEX_WAIT = 455 };

__u64 reported[REPORTED_SLOTS];

/* Whether `what` was not reported yet: an object, and properties to report again on change. */
static __always_inline bool first_report(__u64 what)
{
	__u32 slot = (what * 0x9e3779b97f4a7c15ull) >> 52;

	if (reported[slot & (REPORTED_SLOTS - 1)] == what)
		return false;
	reported[slot & (REPORTED_SLOTS - 1)] = what;
	return true;
}

static __always_inline void address_of(const struct sock *sk, struct socket_address *a)
{
	a->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	a->protocol = BPF_CORE_READ(sk, sk_protocol);
	if (a->family != AF_INET && a->family != AF_INET6)
		return;
	a->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	a->peer_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (a->family == AF_INET) {
		bpf_core_read(a->local, 4, &sk->__sk_common.skc_rcv_saddr);
		bpf_core_read(a->peer, 4, &sk->__sk_common.skc_daddr);
	} else {
		bpf_core_read(a->local, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(a->peer, 16, &sk->__sk_common.skc_v6_daddr);
	}
}

/* Sockets are identified by their inode number, as in /proc/PID/fd; 0 if there is none. */
static __always_inline __u64 socket_inode(const struct socket *socket)
{
	if (!socket)
		return 0;

	/* container_of() with the layout of the running kernel */
	const char *alloc =
		(const char *)socket - bpf_core_field_offset(struct socket_alloc, socket);

	return BPF_CORE_READ((const struct socket_alloc *)alloc, vfs_inode.i_ino);
}

static __always_inline enum object_kind socket_kind(__u16 family)
{
	if (family == AF_INET || family == AF_INET6)
		return OBJECT_INET;
	return family == AF_UNIX ? OBJECT_UNIX : OBJECT_SOCKET;
}

static __noinline void socket_describe(const struct sock *sk, __u64 object, __u64 now)
{
	struct wire_ring *ring = ring_of_cpu();

	if (!ring || !sk)
		return;

	struct record_socket *s = ring_reserve(ring, sizeof(*s), now);

	if (!s)
		return;
	s->object = object;
	address_of(sk, &s->address);
	s->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	if (s->address.family == AF_UNIX) {
		struct sock *peer = BPF_CORE_READ((const struct unix_sock *)sk, peer);

		if (peer)
			s->peer_object = socket_inode(BPF_CORE_READ(peer, sk_socket));
		if (BPF_CORE_READ(sk, sk_peer_pid))
			s->peer_pid = BPF_CORE_READ(sk, sk_peer_pid, numbers[0].nr);
	}
	ring_commit(&s->head, RECORD_SOCKET, 0, sizeof(*s));
}

/* Describe a socket, once for each of its peers. */
static __always_inline void socket_report(const struct sock *sk, __u64 inode, __u16 local,
					  __u16 peer, __u64 now)
{
	if (inode && first_report(inode << 32 | (__u32)local << 16 | peer))
		socket_describe(sk, inode, now);
}

static __noinline void file_describe(const struct dentry *dentry, __u64 object, __u32 device,
				     __u64 inode, __u64 now)
{
	struct wire_ring *ring = ring_of_cpu();

	if (!ring)
		return;

	struct wire_file *f = ring_reserve(ring, sizeof(*f), now);

	if (!f)
		return;
	f->file.object = object;
	f->file.inode = inode;
	f->file.device = device;
	bpf_probe_read_kernel_str(f->name, sizeof(f->name), BPF_CORE_READ(dentry, d_name.name));
	bpf_probe_read_kernel_str(f->directory, sizeof(f->directory),
				  BPF_CORE_READ(dentry, d_parent, d_name.name));
	ring_commit(&f->file.head, RECORD_FILE, 0, sizeof(*f));
}

/* Any name of the file. */
static __always_inline const struct dentry *inode_name(const struct inode *inode)
{
	const char *alias = (const char *)BPF_CORE_READ(inode, i_dentry.first);

	return (const void *)(alias - bpf_core_field_offset(struct dentry, d_u.d_alias));
}

/* `file` is NULL if only the inode is known. */
static __always_inline __u64 file_object(const struct file *file, const struct inode *inode,
					 __u64 now)
{
	__u32 device = BPF_CORE_READ(inode, i_sb, s_dev);
	__u64 number = BPF_CORE_READ(inode, i_ino);
	__u64 object = (__u64)device << 40 ^ number;

	if (first_report(object | 1ull << 63))
		file_describe(file ? BPF_CORE_READ(file, f_path.dentry) : inode_name(inode), object,
			      device, number, now);
	return object;
}

/* Anonymous inodes are identified by the name of their dentry. */
static __always_inline enum object_kind anonymous_kind(const struct file *file)
{
	char name[8] = {};

	bpf_probe_read_kernel(name, sizeof(name), BPF_CORE_READ(file, f_path.dentry, d_name.name));
#define IS(word) (*(__u64 *)name == *(const __u64 *)word)
	if (IS("[eventfd"))
		return OBJECT_EVENTFD;
	if (IS("[eventpo"))
		return OBJECT_EPOLL;
	if (IS("[timerfd"))
		return OBJECT_TIMERFD;
	if (IS("[signalf"))
		return OBJECT_SIGNALFD;
	if (IS("[io_urin"))
		return OBJECT_IO_URING;
	if (IS("inotify\0") || IS("[fanotif"))
		return OBJECT_INOTIFY;
#undef IS
	return OBJECT_OTHER;
}

static __always_inline enum object_kind char_device_kind(__u32 device)
{
	__u32 major = device >> 20;

	if (major == 4 || major == 5 || (major >= 136 && major <= 143))
		return OBJECT_TTY;
	return major == 13 ? OBJECT_INPUT : OBJECT_CHAR_DEVICE;
}

static __always_inline struct file *file_of(struct task_struct *task, __u32 fd)
{
	struct file *file = NULL;
	struct fdtable *fdt = task->files->fdt;

	if (fd < fdt->max_fds)
		bpf_probe_read_kernel(&file, sizeof(file), fdt->fd + fd);
	return file;
}

static __always_inline void site_by_file(struct task_struct *task, __u32 fd, struct wait_site *site,
					 __u64 now)
{
	struct file *file = file_of(task, fd);

	if (!file)
		return;

	struct inode *inode = BPF_CORE_READ(file, f_inode);
	__u32 device = BPF_CORE_READ(inode, i_rdev);

	site->object = device;
	switch (BPF_CORE_READ(inode, i_mode) & S_IFMT) {
	case S_IFSOCK: {
		struct socket *socket = BPF_CORE_READ(file, private_data);
		struct sock *sk = BPF_CORE_READ(socket, sk);

		site->object_kind = socket_kind(BPF_CORE_READ(sk, __sk_common.skc_family));
		site->object = BPF_CORE_READ(inode, i_ino);
		socket_report(sk, site->object, BPF_CORE_READ(sk, __sk_common.skc_num),
			      BPF_CORE_READ(sk, __sk_common.skc_dport), now);
		break;
	}
	case S_IFREG:
		site->object_kind = OBJECT_FILE;
		site->object = file_object(file, inode, now);
		break;
	case S_IFDIR:
		site->object_kind = OBJECT_DIRECTORY;
		site->object = file_object(file, inode, now);
		break;
	case S_IFIFO:
		site->object_kind = OBJECT_PIPE;
		site->object = BPF_CORE_READ(inode, i_ino);
		break;
	case S_IFBLK:
		site->object_kind = OBJECT_BLOCK_DEVICE;
		break;
	case S_IFCHR:
		site->object_kind = char_device_kind(device);
		break;
	default:
		site->object_kind = anonymous_kind(file);
		site->object = 0;
		break;
	}
}

/*
 * Save where a thread blocks; `state` is its task state at the switch-out.  Its
 * saved registers contain its system call, which is valid only for a blocked thread.
 */
static __always_inline void site_save(struct traced_thread *thread, struct task_struct *task,
				      __u32 state)
{
	thread->site_flags = BPF_CORE_READ_BITFIELD(task, in_iowait) ? INTERVAL_IOWAIT : 0;
	if (state & TASK_UNINTERRUPTIBLE)
		thread->site_flags |= INTERVAL_UNINTERRUPTIBLE;
	if (state & (TASK_STOPPED_OR_TRACED | TASK_FROZEN))
		thread->site_flags |= INTERVAL_STOPPED;
	thread->site_call = SYSCALL_NONE;
	thread->site_memory = 0;
	if (task->flags & PF_KTHREAD)
		return;

	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u64 nr = regs->orig_ax;

	fault_save(thread, task);
	thread->site_memory =
		state & TASK_UNINTERRUPTIBLE ? memory_shortage(task, thread->site_inode) : 0;
	if (nr >= SYSCALL_TABLE_SIZE)
		return;
	thread->site_call = nr;
	thread->site_arg = regs->di;
	thread->site_futex_op = regs->si;
	thread->site_futex_value = regs->dx;
}

/* The wait site that was saved, with the object that the thread waits on. */
static __always_inline void site_of(const struct traced_thread *thread, struct task_struct *task,
				    struct wait_site *site, __u64 now)
{
	__s16 nr = thread->site_call;

	site->syscall = nr;
	site->flags = thread->site_flags;
	site->memory = thread->site_memory;
	site->kernel = (task->flags & PF_KTHREAD) != 0;
	if (nr == NR_FUTEX || nr == NR_FUTEX_WAIT) {
		site->object = thread->site_arg;
		site->object_kind = OBJECT_FUTEX;
		if (nr == NR_FUTEX)
			site_set_futex(site, thread->site_futex_op, thread->site_futex_value);
	} else if (syscall_class_of(nr) == SYSCALL_DESCRIPTOR || nr == NR_FLOCK || nr == NR_FCNTL) {
		site_by_file(task, thread->site_arg, site, now);
	} else if (nr == SYSCALL_NONE && !site->kernel && thread->site_inode) {
		site->object = file_object(NULL, thread->site_inode, now);
		site->object_kind = OBJECT_FILE;
	}
}

#endif

/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * kernel - the kernel types that the BPF programs read.
 *
 * CO-RE relocates each field access when a program is loaded, so only the fields
 * that are read are declared.  This avoids a generated vmlinux.h of 3 MB.  A name
 * with three underscores is another version of a struct, for kernels with a
 * different layout.
 */
#ifndef SONDE_BPF_KERNEL_H
#define SONDE_BPF_KERNEL_H

#include <stdbool.h>
#include <linux/types.h>

#define PF_EXITING 0x00000004
#define PF_IO_WORKER 0x00000010
#define PF_USER_WORKER 0x00004000
#define PF_KTHREAD 0x00200000

#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_STOPPED_OR_TRACED 0x000c
#define TASK_DEAD 0x0080
#define TASK_FROZEN 0x8000 /* since 6.1; older kernels do not use the bit */

#define NICE_ZERO_PRIO 120

#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define S_IFREG 0100000
#define S_IFBLK 0060000
#define S_IFDIR 0040000
#define S_IFCHR 0020000
#define S_IFIFO 0010000

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define MSG_PEEK 2
#define TCP_NAGLE_OFF 1 /* TCP_NODELAY */

#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_FIN_WAIT1 4
#define TCP_FIN_WAIT2 5
#define TCP_CLOSE 7
#define TCP_LISTEN 10

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	__u64 id;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup_root *root;
	struct cgroup *ancestors[];
};

struct cgroup___ids { /* before 6.1 */
	__u64 ancestor_ids[];
};

struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
};

struct super_block {
	__u32 s_dev;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct inode {
	struct hlist_head i_dentry; /* its names: list of dentry.d_u.d_alias */
	__u16 i_mode;
	__u32 i_rdev;
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	union {
		struct hlist_node d_alias;
	} d_u;
};

struct address_space {
	struct inode *host;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
	void *private_data;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct cfs_rq {
	int throttle_count;
};

struct sched_entity {
	__u64 sum_exec_runtime;
	__u64 prev_sum_exec_runtime;
	struct cfs_rq *cfs_rq;
};

struct thread_info {
	__u32 cpu;
};

struct thread_struct {
	unsigned long fsbase;
};

struct mm_struct {
	unsigned long end_code;
	unsigned long start_stack;
};

enum cgroup_subsys_id {
	memory_cgrp_id = 4,
};

struct atomic_long {
	__s64 counter;
};

struct page_counter {
	struct atomic_long usage;
	unsigned long high, max; /* pages */
	struct page_counter *parent;
};

struct mem_cgroup {
	struct page_counter memory;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int on_cpu;
	unsigned int flags;
	int static_prio; /* 120 + nice */
	int normal_prio; /* by policy; without priority inheritance */
	unsigned int rt_priority;
	unsigned int policy;
	int pid;
	int tgid;
	int exit_code;
	unsigned in_iowait : 1;
	unsigned in_memstall : 1;
	struct task_struct *real_parent, *group_leader;
	__u64 start_time;
	struct files_struct *files;
	struct css_set *cgroups;
	struct sched_entity se;
	struct mm_struct *mm;
	struct pid *thread_pid;
	char comm[16];
	struct thread_struct thread;
};

struct task_struct___throttled { /* since 6.18 */
	bool throttled;
};

struct task_struct___cpu { /* before 5.16 */
	unsigned int cpu;
};

struct in6_addr {
	__u8 u6_addr8[16];
};

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	__u32 skc_daddr;
	__u32 skc_rcv_saddr;
	__u16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct socket;

struct sk_buff_head {
	__u32 qlen;
};

struct sock {
	struct sock_common __sk_common;
	struct sk_buff_head sk_receive_queue;
	__u16 sk_protocol;
	struct socket *sk_socket;
	struct pid *sk_peer_pid;
};

struct unix_sock {
	struct sock *peer;
};

struct udp_sock {
	struct sk_buff_head reader_queue;
};

struct tcp_sock {
	__u32 copied_seq;
	__u32 rcv_nxt;
	__u32 write_seq;
	__u32 snd_una, snd_nxt;
	__u32 snd_wnd, snd_cwnd;
	__u32 mss_cache;
	__u32 packets_out;
	__u8 nonagle : 4;
	__u64 tcp_wstamp_ns; /* time of the last sent segment, CLOCK_MONOTONIC */
};

struct socket {
	struct file *file;
	struct sock *sk;
};

struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
};

struct gendisk {
	int major;
	int first_minor;
};

struct request_queue {
	struct gendisk *disk;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	__u64 __sector;
};

struct pt_regs {
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ip;
};

struct bpf_iter_meta {
	void *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
	struct sock *sk;
	void *value;
};

#pragma clang attribute pop

#endif

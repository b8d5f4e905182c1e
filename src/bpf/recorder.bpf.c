// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* recorder - all BPF programs, in one object so that they share maps. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "bpf/kernel.h"
#include "bpf/sched.bpf.h"
#include "bpf/socket.bpf.h"
#include "bpf/demand.bpf.h"
#include "bpf/unread.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

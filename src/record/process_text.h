/* SPDX-License-Identifier: Apache-2.0 */
/* process_text - what the kernel programs cannot read about a process or a device: texts. */
#ifndef SONDE_RECORD_PROCESS_TEXT_H
#define SONDE_RECORD_PROCESS_TEXT_H

#include "base/base.h"

/*
 * The command line of a process, with secrets masked; without `arguments`, only the name of the
 * program.  NULL if the process has exited, or is a kernel thread.  The caller frees it.
 */
char *process_text_cmdline(uint32_t pid, bool arguments);

/* The cgroup path of a process; "" if unknown.  The caller frees it. */
char *process_text_cgroup(uint32_t pid);

/* The name of a block device (major << 20 | minor); false if unknown. */
bool process_text_device(uint32_t device, char ret[128]);

#endif

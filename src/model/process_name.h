/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_name - the name that people use for a process.
 *
 * The kernel's name of a process is that of the executable, in at most 15 bytes.  For an
 * interpreter that is the same for all services: python3, java, node.  The command line has the
 * better name: the script, the module, the jar or the main class; and for servers that run an
 * application, such as uvicorn, also that application.  An interpreter without any of these is
 * named after its systemd unit.  A process that has renamed itself keeps the name that it chose.
 */
#ifndef SONDE_MODEL_PROCESS_NAME_H
#define SONDE_MODEL_PROCESS_NAME_H

#include "base/base.h"

struct process_name {
	char s[64];
};

/*
 * The name of a process by its main thread's comm, its arguments separated by blanks, and the path
 * of its cgroup; each can be "".
 */
struct process_name process_name(const char *comm, const char *cmdline, const char *cgroup);

#endif

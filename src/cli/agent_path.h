/* SPDX-License-Identifier: Apache-2.0 */
/* agent_path - the path of the library that `sonde run` loads into a command. */
#ifndef SONDE_CLI_AGENT_PATH_H
#define SONDE_CLI_AGENT_PATH_H

#include "base/err.h"

/* The absolute path of libsonde-agent.so; the caller frees it. */
int agent_path_find(char **ret, struct err *err);

#endif

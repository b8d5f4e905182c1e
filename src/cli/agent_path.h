/* SPDX-License-Identifier: Apache-2.0 */
/* agent_path - where the library is that goes into other people's processes. */
#ifndef SONDE_CLI_AGENT_PATH_H
#define SONDE_CLI_AGENT_PATH_H

#include "base/err.h"

/* The full path of libsonde-agent.so, which the caller frees. */
int agent_path_find(char **ret, struct err *err);

#endif

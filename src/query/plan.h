/* SPDX-License-Identifier: Apache-2.0 */
/* plan - the choice of how to find rows; plan.c describes the encoding of a plan. */
#ifndef SONDE_QUERY_PLAN_H
#define SONDE_QUERY_PLAN_H

#include "query/internal.h"

enum { PLAN_ARGS_MAX = 16, PLAN_LETTER = 'a' };

int plan_best(struct table_state *s, sqlite3_index_info *info);

#endif

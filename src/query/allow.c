/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allow - the actions that a statement may perform.
 *
 * SQLite calls the authorizer for each action while it compiles a statement.  Both lists
 * are allowlists: a build of SQLite can contain functions that return addresses
 * (fts3_tokenizer), write to logs or run statements of their own (rtreecheck), and later
 * versions can add more of them.
 */
#include <stdlib.h>
#include <string.h>

#include "query/internal.h"

/* Sorted by strcmp(). */
static const char *const functions[] = {
	"->",
	"->>",
	"abs",
	"acos",
	"acosh",
	"asin",
	"asinh",
	"atan",
	"atan2",
	"atanh",
	"avg",
	"bucket",
	"ceil",
	"ceiling",
	"char",
	"coalesce",
	"concat",
	"concat_ws",
	"cos",
	"cosh",
	"count",
	"cume_dist",
	"current_date",
	"current_time",
	"current_timestamp",
	"date",
	"datetime",
	"degrees",
	"dense_rank",
	"exp",
	"first_value",
	"floor",
	"format",
	"glob",
	"group_concat",
	"hex",
	"if",
	"ifnull",
	"iif",
	"instr",
	"json",
	"json_array",
	"json_array_insert",
	"json_array_length",
	"json_error_position",
	"json_extract",
	"json_group_array",
	"json_group_object",
	"json_insert",
	"json_object",
	"json_patch",
	"json_pretty",
	"json_quote",
	"json_remove",
	"json_replace",
	"json_set",
	"json_type",
	"json_valid",
	"julianday",
	"lag",
	"last_value",
	"lead",
	"length",
	"like",
	"likelihood",
	"likely",
	"ln",
	"log",
	"log10",
	"log2",
	"lower",
	"ltrim",
	"max",
	"min",
	"mod",
	"ms",
	"nth_value",
	"ntile",
	"nullif",
	"octet_length",
	"percent_rank",
	"percentile",
	"pi",
	"pow",
	"power",
	"printf",
	"quote",
	"radians",
	"random",
	"randomblob",
	"rank",
	"replace",
	"round",
	"row_number",
	"rtrim",
	"sign",
	"sin",
	"since_start",
	"sinh",
	"soundex",
	"sqlite_source_id",
	"sqlite_version",
	"sqrt",
	"state_name",
	"strftime",
	"string_agg",
	"substr",
	"substring",
	"subtype",
	"sum",
	"tan",
	"tanh",
	"time",
	"timediff",
	"total",
	"trim",
	"trunc",
	"typeof",
	"unhex",
	"unicode",
	"unistr",
	"unistr_quote",
	"unixepoch",
	"unlikely",
	"upper",
	"us",
	"zeroblob",
};

static const char *const pragmas[] = {
	"function_list",
	"table_info",
	"table_list",
	"table_xinfo",
};

static int by_name(const void *name, const void *item)
{
	return strcmp(name, *(const char *const *)item);
}

static bool is_in(const char *name, const char *const *list, size_t count)
{
	return bsearch(name, list, count, sizeof(*list), by_name);
}

int query_authorize(void *arg, int action, const char *a, const char *b, const char *database,
		    const char *by)
{
	bool allowed = false;

	if (((const struct query *)arg)->is_declaring)
		return SQLITE_OK;
	if (action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE)
		allowed = true;
	else if (action == SQLITE_FUNCTION)
		allowed = is_in(b, functions, ARRAY_LEN(functions));
	else if (action == SQLITE_PRAGMA)
		allowed = is_in(a, pragmas, ARRAY_LEN(pragmas));
	return allowed ? SQLITE_OK : SQLITE_DENY;
}

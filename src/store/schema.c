/* SPDX-License-Identifier: Apache-2.0 */
#include "store/schema.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "store/baseline_file.h"

/* Offsets in the header of an SQLite file. */
enum {
	PAGE_SIZE_AT = 16,
	READ_FORMAT_AT = 19, /* 2 is WAL mode */
	PAGE_COUNT_AT = 28,
	VERSION_AT = 60,
	APPLICATION_AT = 68,
	HEADER_SIZE = 100,
};

static const char sqlite_magic[16] = "SQLite format 3";

/* The definitions are compared with those of a file: a change needs a new version. */
const struct table_schema baseline_tables[BASELINE_TABLES] = {
	[BASELINE_OPTIONS] = { "options",
			       "CREATE TABLE options (\n"
			       "  name TEXT NOT NULL PRIMARY KEY,\n"
			       "  value REAL NOT NULL\n"
			       ") STRICT, WITHOUT ROWID",
			       2 },
	[BASELINE_RECORDINGS] = { "recordings",
				  "CREATE TABLE recordings (\n"
				  "  digest INTEGER PRIMARY KEY,\n"
				  "  length INTEGER NOT NULL,\n"
				  "  traces INTEGER NOT NULL,\n"
				  "  spans INTEGER NOT NULL,\n"
				  "  cut INTEGER NOT NULL,\n"
				  "  orphaned INTEGER NOT NULL,\n"
				  "  lost INTEGER NOT NULL\n"
				  ") STRICT",
				  7 },
	[BASELINE_TYPES] = { "types",
			     "CREATE TABLE types (\n"
			     "  type INTEGER PRIMARY KEY,\n"
			     "  folded INTEGER NOT NULL,\n"
			     "  traces INTEGER NOT NULL,\n"
			     "  service TEXT NOT NULL,\n"
			     "  operation TEXT NOT NULL\n"
			     ") STRICT",
			     5 },
	[BASELINE_KEYS] = { "keys",
			    "CREATE TABLE keys (\n"
			    "  kind TEXT NOT NULL,\n"
			    "  key INTEGER NOT NULL,\n"
			    "  observed INTEGER NOT NULL,\n"
			    "  PRIMARY KEY (kind, key)\n"
			    ") STRICT, WITHOUT ROWID",
			    3 },
	[BASELINE_SPANS] = { "spans",
			     "CREATE TABLE spans (\n"
			     "  identity INTEGER PRIMARY KEY,\n"
			     "  recording INTEGER NOT NULL,\n"
			     "  quarter INTEGER NOT NULL,\n"
			     "  position_key INTEGER NOT NULL,\n"
			     "  subtree_key INTEGER NOT NULL,\n"
			     "  operation_key INTEGER NOT NULL,\n"
			     "  type INTEGER NOT NULL,\n"
			     "  position INTEGER NOT NULL,\n"
			     "  service TEXT NOT NULL,\n"
			     "  operation TEXT NOT NULL,\n"
			     "  duration INTEGER NOT NULL,\n"
			     "  queueing INTEGER NOT NULL,\n"
			     "  own INTEGER NOT NULL,\n"
			     "  cpu INTEGER NOT NULL,\n"
			     "  disk_bytes INTEGER NOT NULL,\n"
			     "  network_bytes INTEGER NOT NULL,\n"
			     "  has_states INTEGER NOT NULL,\n"
			     "  intervals BLOB NOT NULL,\n"
			     "  runs BLOB NOT NULL,\n"
			     "  traits BLOB NOT NULL\n"
			     ") STRICT",
			     20 },
	[BASELINE_PROFILES] = { "profiles",
				"CREATE TABLE profiles (\n"
				"  kind TEXT NOT NULL,\n"
				"  key INTEGER NOT NULL,\n"
				"  part INTEGER NOT NULL,\n"
				"  type INTEGER,\n"
				"  position INTEGER,\n"
				"  service TEXT NOT NULL,\n"
				"  operation TEXT NOT NULL,\n"
				"  observed INTEGER NOT NULL,\n"
				"  samples INTEGER NOT NULL,\n"
				"  intervals INTEGER NOT NULL,\n"
				"  least_time INTEGER NOT NULL,\n"
				"  score_limit REAL NOT NULL,\n"
				"  mean_duration REAL NOT NULL,\n"
				"  p50 INTEGER NOT NULL,\n"
				"  p95 INTEGER NOT NULL,\n"
				"  p99 INTEGER NOT NULL,\n"
				"  cpu REAL NOT NULL,\n"
				"  disk_bytes REAL NOT NULL,\n"
				"  network_bytes REAL NOT NULL,\n"
				"  PRIMARY KEY (kind, key, part)\n"
				") STRICT, WITHOUT ROWID",
				19 },
	[BASELINE_PATTERNS] = { "patterns",
				"CREATE TABLE patterns (\n"
				"  kind TEXT NOT NULL,\n"
				"  key INTEGER NOT NULL,\n"
				"  part INTEGER NOT NULL,\n"
				"  interval INTEGER NOT NULL,\n"
				"  rank INTEGER NOT NULL,\n"
				"  letters TEXT NOT NULL,\n"
				"  support INTEGER NOT NULL,\n"
				"  sequences INTEGER NOT NULL,\n"
				"  PRIMARY KEY (kind, key, part, interval, rank)\n"
				") STRICT, WITHOUT ROWID",
				8 },
	[BASELINE_BANDS] = { "bands",
			     "CREATE TABLE bands (\n"
			     "  kind TEXT NOT NULL,\n"
			     "  key INTEGER NOT NULL,\n"
			     "  part INTEGER NOT NULL,\n"
			     "  interval INTEGER NOT NULL,\n"
			     "  feature TEXT NOT NULL,\n"
			     "  low REAL NOT NULL,\n"
			     "  middle REAL NOT NULL,\n"
			     "  high REAL NOT NULL,\n"
			     "  mean REAL NOT NULL,\n"
			     "  deviation REAL NOT NULL,\n"
			     "  by_quantiles INTEGER NOT NULL,\n"
			     "  PRIMARY KEY (kind, key, part, interval, feature)\n"
			     ") STRICT, WITHOUT ROWID",
			     11 },
	[BASELINE_PARTS] = { "parts",
			     "CREATE TABLE parts (\n"
			     "  kind TEXT NOT NULL,\n"
			     "  key INTEGER NOT NULL,\n"
			     "  part INTEGER NOT NULL,\n"
			     "  trait TEXT NOT NULL,\n"
			     "  name TEXT NOT NULL,\n"
			     "  least INTEGER,\n"
			     "  most INTEGER,\n"
			     "  value TEXT,\n"
			     "  PRIMARY KEY (kind, key, part)\n"
			     ") STRICT, WITHOUT ROWID",
			     8 },
};

const char *const key_kind_names[KEY_KINDS] = {
	[KEY_POSITION] = "position",
	[KEY_SUBTREE] = "subtree",
	[KEY_OPERATION] = "operation",
};

/* Bounds that keep the arithmetic of bands and patterns finite. */
const struct option_schema baseline_options[LEARN_OPTIONS] = {
	{ "support", 0.001, 1, false }, { "gap_least", 0, 1000, true },
	{ "gap_most", 0, 1000, true },  { "closed_at_ends", 0, 1, true },
	{ "sigma", 0.01, 100, false },  { "cv", 0, 1e6, false },
};

void options_to_numbers(const struct learn_options *o, double ret[LEARN_OPTIONS])
{
	const double numbers[LEARN_OPTIONS] = { o->support,        o->gap_least, o->gap_most,
						o->closed_at_ends, o->sigma,     o->cv };

	memcpy(ret, numbers, sizeof(numbers));
}

struct learn_options options_of_numbers(const double numbers[LEARN_OPTIONS])
{
	return (struct learn_options){
		.support = numbers[0],
		.gap_least = numbers[1],
		.gap_most = numbers[2],
		.closed_at_ends = numbers[3],
		.sigma = numbers[4],
		.cv = numbers[5],
	};
}

/* Numbers in the header are big-endian. */
static uint32_t number_at(struct view bytes, size_t at)
{
	const uint8_t *b = (const uint8_t *)bytes.s + at;

	return (uint32_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
}

bool baseline_read_header(struct view bytes, struct baseline_header *ret)
{
	if (bytes.len < HEADER_SIZE || memcmp(bytes.s, sqlite_magic, sizeof(sqlite_magic)) != 0 ||
	    number_at(bytes, APPLICATION_AT) != BASELINE_APPLICATION)
		return false;

	uint32_t page_size = number_at(bytes, PAGE_SIZE_AT) >> 16; /* 1 is 65,536 */

	ret->version = number_at(bytes, VERSION_AT);
	ret->has_log = bytes.s[READ_FORMAT_AT] == 2;
	ret->size = (page_size == 1 ? 65536ull : page_size) * number_at(bytes, PAGE_COUNT_AT);
	return true;
}

bool baseline_is_file(const char *path)
{
	/* O_NONBLOCK: opening a pipe must not wait for its other end */
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct baseline_header header;
	char bytes[HEADER_SIZE];
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       pread(fd, bytes, sizeof(bytes), 0) == sizeof(bytes) &&
	       baseline_read_header((struct view){ bytes, sizeof(bytes) }, &header);
}

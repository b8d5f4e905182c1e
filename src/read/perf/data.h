/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_data - the binary format of perf.data files.
 *
 * See perf.data-file-format.txt in the kernel sources and perf_event_open(2).  A file
 * consists of a header, the attributes of the events, the records, and features,
 * which describe the host and the recording.  Output to a pipe has a short header,
 * and its attributes and features are records.  Numbers are in the byte order of the
 * recorded host, which follows from the magic number.
 */
#ifndef SONDE_READ_PERF_DATA_H
#define SONDE_READ_PERF_DATA_H

#include <string.h>

#include "base/base.h"

#define PERF_MAGIC 0x32454c4946524550ull /* "PERFILE2" in little-endian order */

struct perf_section {
	uint64_t offset, size;
};

struct perf_header {
	uint64_t magic, size; /* a pipe's header ends here */
	uint64_t attr_size;   /* size of an attribute and the section of its ids */
	struct perf_section attrs, data, types;
	uint64_t features[4]; /* bit set; the sections follow the data */
};

enum { PERF_PIPE_HEADER = 16, PERF_FEATURES = 256 };

enum perf_feature {
	PERF_FEATURE_TRACING = 1, /* the formats of tracepoints */
	PERF_FEATURE_HOST = 3,
	PERF_FEATURE_RELEASE = 4,
	PERF_FEATURE_VERSION = 5,
	PERF_FEATURE_MACHINE = 6,
	PERF_FEATURE_CPUS = 7,
	PERF_FEATURE_COMMAND = 11,
	PERF_FEATURE_EVENTS = 12, /* the attributes once more, with names */
	PERF_FEATURE_DIRECTORY = 24,
	PERF_FEATURE_COMPRESSED = 27,
	PERF_FEATURE_CLOCK = 29, /* one moment on the trace's clock and on CLOCK_REALTIME */
};

/* Offsets in struct perf_event_attr, whose size depends on the version of perf. */
enum perf_attr_offset {
	PERF_ATTR_TYPE = 0,
	PERF_ATTR_SIZE = 4,
	PERF_ATTR_CONFIG = 8,
	PERF_ATTR_SAMPLE = 24,
	PERF_ATTR_READ = 32,
	PERF_ATTR_FLAGS = 40,
	PERF_ATTR_MIN = 64, /* size of the first version; size 0 means the same */
	PERF_ATTR_CLOCK = 92,
};

enum { PERF_TRACEPOINT = 2 }; /* value of PERF_ATTR_TYPE */

/* Bit numbers in the flags; on big-endian hosts they count from the highest bit. */
enum perf_attr_flag {
	PERF_ATTR_COMM = 9,
	PERF_ATTR_TASK = 13,   /* records FORK and EXIT */
	PERF_ATTR_ID_ALL = 18, /* records other than samples have a trailer with their time */
	PERF_ATTR_USE_CLOCK = 25,
	PERF_ATTR_SWITCH = 26,
};

/* The fields of a sample, in this order except where noted; IDENTIFIER comes first. */
enum perf_sample_bit {
	PERF_HAS_IP = 1 << 0,
	PERF_HAS_TID = 1 << 1,
	PERF_HAS_TIME = 1 << 2,
	PERF_HAS_ADDR = 1 << 3,
	PERF_HAS_READ = 1 << 4,      /* after PERIOD */
	PERF_HAS_CALLCHAIN = 1 << 5, /* after READ */
	PERF_HAS_ID = 1 << 6,
	PERF_HAS_CPU = 1 << 7,
	PERF_HAS_PERIOD = 1 << 8,
	PERF_HAS_STREAM = 1 << 9, /* before CPU */
	PERF_HAS_RAW = 1 << 10,   /* data of the tracepoint; all other fields follow */
	PERF_HAS_IDENTIFIER = 1 << 16,
};

enum perf_read_bit {
	PERF_READ_ENABLED = 1 << 0,
	PERF_READ_RUNNING = 1 << 1,
	PERF_READ_ID = 1 << 2,
	PERF_READ_GROUP = 1 << 3,
	PERF_READ_LOST = 1 << 4,
};

struct perf_record {
	uint32_t type; /* enum perf_record_type */
	uint16_t misc, size;
};

enum perf_record_type {
	/* written by the kernel */
	PERF_LOST = 2,
	PERF_COMM = 3,
	PERF_EXIT = 4,
	PERF_THROTTLE = 5, /* the kernel drops further events of this type until the next tick */
	PERF_FORK = 7,
	PERF_SAMPLE = 9,
	PERF_LOST_SAMPLES = 13,
	PERF_SWITCH_CPU_WIDE = 15,
	/* written by perf */
	PERF_ATTR = 64,
	PERF_TRACING = 66,  /* followed by data that its size does not include */
	PERF_ROUND = 68,    /* perf has read each ring once since the last ROUND */
	PERF_AUXTRACE = 71, /* followed by data, as TRACING */
	PERF_THREAD_MAP = 73,
	PERF_UPDATE = 78,
	PERF_FEATURE = 80,
	PERF_COMPRESSED = 81,
	PERF_COMPRESSED2 = 83, /* with explicit size, padded */
};

enum perf_misc {
	PERF_MISC_SWITCH_OUT = 1 << 13,
	PERF_MISC_PREEMPTED = 1 << 14,
	PERF_MISC_NOT_LOST = 1 << 15, /* LOST_SAMPLES: dropped by a BPF filter */
};

static inline uint16_t perf_u16(const void *p, bool swap)
{
	uint16_t n;

	memcpy(&n, p, sizeof(n));
	return swap ? __builtin_bswap16(n) : n;
}

static inline uint32_t perf_u32(const void *p, bool swap)
{
	uint32_t n;

	memcpy(&n, p, sizeof(n));
	return swap ? __builtin_bswap32(n) : n;
}

static inline uint64_t perf_u64(const void *p, bool swap)
{
	uint64_t n;

	memcpy(&n, p, sizeof(n));
	return swap ? __builtin_bswap64(n) : n;
}

static inline struct perf_record perf_record(const uint8_t *p, bool swap)
{
	return (struct perf_record){ perf_u32(p, swap), perf_u16(p + 4, swap),
				     perf_u16(p + 6, swap) };
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/process_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "event/span_wire.h"
#include "otlp/protobuf.h"

enum {
	MAPS_TEXT_MAX = 1 << 20, /* bytes of a maps file: about 10,000 mappings, 5 ms */
	LINE_MAX = 4096 + 128,
	PAYLOAD_MAX = 16 * 1024,
	CONTEXT_VERSION = 2,
};

struct scan_mapping {
	uint64_t start, end, device, inode;
	const char *name;
};

/* The header at the address of OTEL_CTX. */
struct process_context_head {
	char signature[8];
	uint32_t version;
	uint32_t size;
	uint64_t published; /* time; 0 while the context changes */
	uint64_t payload;   /* address */
};

static bool parse_mapping(char *line, struct scan_mapping *ret)
{
	unsigned int major, minor;
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4s %*x %x:%x %" SCNu64 "%n", &ret->start,
		   &ret->end, &major, &minor, &ret->inode, &at) != 5 ||
	    at == 0)
		return false;
	ret->device = makedev(major, minor);
	ret->name = line + at + strspn(line + at, " ");
	return true;
}

/* Returns false to stop. */
typedef bool line_fn(void *arg, char *line);

static int each_line(uint32_t pid, line_fn *fn, void *arg)
{
	char path[64], text[4 * LINE_MAX];
	size_t total = 0, kept = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);

	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	for (; total < MAPS_TEXT_MAX && (n = read(fd, text + kept, sizeof(text) - 1 - kept)) > 0;
	     total += n) {
		char *line = text, *end;

		text[kept + n] = '\0';
		for (; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			if (!fn(arg, line))
				return 0;
		}
		kept = strlen(line);
		memmove(text, line, kept);
		if (kept == sizeof(text) - 1)
			return -EBADMSG;
	}
	return total ? 0 : -ESRCH;
}

struct scan_state {
	uint64_t device;
	struct process_scan scan;
};

static bool add_mapping(void *arg, char *line)
{
	struct scan_state *s = arg;
	struct scan_mapping mapping;
	/* a quick check first: most lines are neither */
	const char *arena = strstr(line, "/memfd:" SPAN_ARENA_NAME);
	const char *context = arena ? NULL : strstr(line, "OTEL_CTX");

	if ((!arena && !context) || !parse_mapping(line, &mapping))
		return true;
	if (strcmp(mapping.name, "/memfd:" SPAN_ARENA_NAME " (deleted)") == 0 &&
	    mapping.device == s->device) {
		s->scan.arena_inode = mapping.inode;
		snprintf(s->scan.arena_range, sizeof(s->scan.arena_range), "%" PRIx64 "-%" PRIx64,
			 mapping.start, mapping.end);
	} else if ((strcmp(mapping.name, "/memfd:OTEL_CTX (deleted)") == 0 &&
		    mapping.device == s->device) ||
		   strcmp(mapping.name, "[anon_shmem:OTEL_CTX]") == 0 ||
		   strcmp(mapping.name, "[anon:OTEL_CTX]") == 0) {
		s->scan.context = mapping.start;
	}
	return true;
}

int process_scan_run(uint32_t pid, uint64_t device, struct process_scan *ret)
{
	struct scan_state s = { .device = device };
	int r = each_line(pid, add_mapping, &s);

	if (r == 0)
		*ret = s.scan;
	return r;
}

int process_scan_open_arena(uint32_t pid, const struct process_scan *scan)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%u/map_files/%s", pid, scan->arena_range);

	int fd = open(path, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

struct memory_check {
	uint64_t device;
	uint64_t start, end; /* addresses to check */
	bool is_plain;       /* no file system supplies this memory */
};

static bool find_memory(void *arg, char *line)
{
	struct memory_check *m = arg;
	struct scan_mapping mapping;

	if (!parse_mapping(line, &mapping) || mapping.end <= m->start)
		return true;
	m->is_plain = mapping.start <= m->start && m->end <= mapping.end &&
		      (mapping.inode == 0 || mapping.device == m->device);
	return false;
}

static bool is_plain_memory(uint32_t pid, uint64_t device, uint64_t start, size_t size)
{
	struct memory_check m = { device, start, start + size, false };

	return m.end > m.start && each_line(pid, find_memory, &m) == 0 && m.is_plain;
}

static bool parse_string(struct view value, char ret[PROCESS_SCAN_SERVICE_MAX])
{
	struct pb_reader pb = pb_reader_of(value);
	struct pb_field f = { 0 };

	while (pb_next(&pb, &f) > 0)
		if (f.tag == PB_TAG(1, PB_BYTES) && f.bytes.len > 0) { /* a string */
			snprintf(ret, PROCESS_SCAN_SERVICE_MAX, "%.*s", (int)f.bytes.len,
				 f.bytes.s);
			return true;
		}
	return false;
}

/* Parse a KeyValue { key = 1, value = 2 }; true if it is service.name. */
static bool parse_service_pair(struct view pair, char ret[PROCESS_SCAN_SERVICE_MAX])
{
	struct pb_reader pb = pb_reader_of(pair);
	struct view key = { 0 }, value = { 0 };
	struct pb_field f = { 0 };

	while (pb_next(&pb, &f) > 0)
		if (f.tag == PB_TAG(1, PB_BYTES))
			key = f.bytes;
		else if (f.tag == PB_TAG(2, PB_BYTES))
			value = f.bytes;
	return view_is(key, "service.name") && value.s && parse_string(value, ret);
}

bool process_scan_parse_service(struct view payload, char ret[PROCESS_SCAN_SERVICE_MAX])
{
	struct pb_reader pb = pb_reader_of(payload);
	struct pb_field resource = { 0 }, pair = { 0 };

	while (pb_next(&pb, &resource) > 0) {
		if (resource.tag != PB_TAG(1, PB_BYTES))
			continue;

		struct pb_reader attributes = pb_reader_of(resource.bytes);

		while (pb_next(&attributes, &pair) > 0)
			if (pair.tag == PB_TAG(1, PB_BYTES) && parse_service_pair(pair.bytes, ret))
				return true;
	}
	return false;
}

bool process_scan_read_service(uint32_t pid, uint64_t device, const struct process_scan *scan,
			       char ret[PROCESS_SCAN_SERVICE_MAX])
{
	struct process_context_head head, again;
	char path[64], payload[PAYLOAD_MAX];

	snprintf(path, sizeof(path), "/proc/%u/mem", pid);

	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || !scan->context ||
	    pread(fd, &head, sizeof(head), (off_t)scan->context) != sizeof(head) ||
	    memcmp(head.signature, "OTEL_CTX", sizeof(head.signature)) != 0 ||
	    head.version != CONTEXT_VERSION || head.size > sizeof(payload) || !head.published ||
	    !is_plain_memory(pid, device, head.payload, head.size) ||
	    pread(fd, payload, head.size, (off_t)head.payload) != (ssize_t)head.size ||
	    pread(fd, &again, sizeof(again), (off_t)scan->context) != sizeof(again) ||
	    memcmp(&head, &again, sizeof(head)) != 0)
		return false;
	return process_scan_parse_service((struct view){ payload, head.size }, ret);
}

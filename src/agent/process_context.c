/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_context - publish the process context of OTEP 4719: the service name, and how
 * threads publish their context, for readers of this process's memory.
 *
 * The context is a mapping named OTEL_CTX: a header, then a protobuf message.
 * `published_at` is 0 while the context changes, so a reader that finds the same time
 * before and after reading has a consistent message.  A forked child does not inherit
 * the mapping, and creates its own.
 */
#include "agent/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

enum { CONTEXT_SIZE = 4096, CONTEXT_VERSION = 2 };

struct process_context {
	char signature[8];
	uint32_t version;
	uint32_t payload_size;
	uint64_t published_at; /* CLOCK_BOOTTIME */
	uint64_t payload;      /* address */
	uint8_t message[CONTEXT_SIZE - 32];
};

/* A message being written.  Data that does not fit is left out, and `full` set. */
struct context_message {
	uint8_t *bytes;
	size_t size, room;
	bool full;
};

static void put(struct context_message *m, const void *bytes, size_t size)
{
	if (m->full || size > m->room - m->size) {
		m->full = true;
		return;
	}
	memcpy(m->bytes + m->size, bytes, size);
	m->size += size;
}

/* Begin a length-delimited field.  Its length always takes two bytes, to be set later. */
static size_t field_begin(struct context_message *m, uint8_t number)
{
	uint8_t head[3] = { (uint8_t)(number << 3 | 2), 0x80, 0 };

	put(m, head, sizeof(head));
	return m->size;
}

static void field_end(struct context_message *m, size_t begin)
{
	size_t size = m->size - begin;

	if (m->full)
		return;
	m->bytes[begin - 2] = (uint8_t)(0x80 | (size & 0x7f));
	m->bytes[begin - 1] = (uint8_t)(size >> 7);
}

static void field(struct context_message *m, uint8_t number, const char *text, size_t size)
{
	size_t begin = field_begin(m, number);

	put(m, text, size);
	field_end(m, begin);
}

/* KeyValue { key = 1, value = 2: AnyValue { string_value = 1 } }; left out if it does not fit. */
static void pair(struct context_message *m, uint8_t number, const char *key, size_t key_size,
		 const char *value, size_t value_size)
{
	size_t before = m->size, begin = field_begin(m, number);

	field(m, 1, key, key_size);
	size_t any = field_begin(m, 2);
	field(m, 1, value, value_size);
	field_end(m, any);
	field_end(m, begin);
	if (m->full) {
		m->size = before;
		m->full = false;
	}
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'                 ? c - '0'
	       : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
						    : -1;
}

/* Decodes %XX; returns the size. */
static size_t decode(const char *from, size_t size, char *to, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < size && n < room; i++) {
		bool is_coded = from[i] == '%' && i + 2 < size && hex_digit(from[i + 1]) >= 0 &&
				hex_digit(from[i + 2]) >= 0;

		to[n++] = is_coded ? (char)(hex_digit(from[i + 1]) << 4 | hex_digit(from[i + 2]))
				   : from[i];
		i += is_coded ? 2 : 0;
	}
	return n;
}

/* OTEL_RESOURCE_ATTRIBUTES=KEY=VALUE,..., except for service.name. */
static void pairs_from_environment(struct context_message *m)
{
	const char *rest = getenv("OTEL_RESOURCE_ATTRIBUTES");
	char value[256];

	while (rest && *rest) {
		rest += strspn(rest, ", ");
		size_t size = strcspn(rest, ","), key = strcspn(rest, "=,");

		if (key && key < size && !(key == 12 && !strncmp(rest, "service.name", key)))
			pair(m, 1, rest, key, value,
			     decode(rest + key + 1, size - key - 1, value, sizeof(value)));
		rest += size;
	}
}

static void put_resource(struct context_message *m)
{
	size_t begin = field_begin(m, 1);
	const char *program = program_invocation_short_name;
	char unknown[SPAN_SERVICE_MAX] = "unknown_service:";

	if (agent_service[0]) {
		pair(m, 1, "service.name", 12, agent_service, strlen(agent_service));
	} else {
		strncat(unknown, program ? program : "", sizeof(unknown) - strlen(unknown) - 1);
		pair(m, 1, "service.name", 12, unknown, strlen(unknown));
	}
	pairs_from_environment(m);
	field_end(m, begin);
}

/* Threads publish their context according to OTEP 4947, without attributes. */
static void put_thread_rules(struct context_message *m)
{
	static const char version[] = "tlsdesc_v1_dev", map[] = "threadlocal.attribute_key_map";

	pair(m, 2, "threadlocal.schema_version", 26, version, sizeof(version) - 1);

	size_t begin = field_begin(m, 2);
	field(m, 1, map, sizeof(map) - 1);
	size_t any = field_begin(m, 2);
	field(m, 5, "", 0); /* array_value, empty */
	field_end(m, any);
	field_end(m, begin);
}

static void name_mapping(void *mapping)
{
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, mapping, CONTEXT_SIZE, "OTEL_CTX");
}

/* NULL on failure. */
static struct process_context *map_context(void)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int flags = MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0);
	void *mapping = MAP_FAILED;

	if (fd < 0 || ftruncate(fd, CONTEXT_SIZE) == 0)
		mapping = mmap(NULL, CONTEXT_SIZE, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (fd >= 0)
		close(fd);
	if (mapping == MAP_FAILED)
		return NULL;
	if (madvise(mapping, CONTEXT_SIZE, MADV_DONTFORK) < 0) {
		munmap(mapping, CONTEXT_SIZE);
		return NULL;
	}
	return mapping;
}

static uint64_t boot_time(uint64_t after)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	uint64_t time = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return time > after ? time : after + 1;
}

void process_context_publish(void)
{
	struct process_context *to =
		agent_process.process_context ? agent_process.process_context : map_context();

	if (!to)
		return;
	agent_process.process_context = to;

	uint64_t before = to->published_at;
	struct context_message m = { .bytes = to->message, .room = sizeof(to->message) };

	__atomic_store_n(&to->published_at, 0, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	put_thread_rules(&m); /* first, because the resource can fill the rest */
	put_resource(&m);
	memcpy(to->signature, "OTEL_CTX", sizeof(to->signature));
	to->version = CONTEXT_VERSION;
	to->payload_size = (uint32_t)m.size;
	to->payload = (uint64_t)(uintptr_t)to->message;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&to->published_at, boot_time(before), __ATOMIC_SEQ_CST);
	name_mapping(to);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/process_scan.h"

#include <errno.h>
#include <stdlib.h>

#include "otlp/protobuf.h"
#include "record/spans/ring_reader.h"
#include "arena_build.h"
#include "test.h"

static void put_text(struct pb_buffer *out, uint32_t number, const char *text)
{
	pb_put_bytes(out, number, (struct view){ text, strlen(text) });
}

static void put_pair(struct pb_buffer *out, const char *key, const char *value)
{
	size_t pair = pb_begin_message(out, 1);

	put_text(out, 1, key);
	size_t any = pb_begin_message(out, 2);
	put_text(out, 1, value);
	pb_end_message(out, any);
	pb_end_message(out, pair);
}

static struct pb_buffer payload_with(const char *service)
{
	struct pb_buffer out = { 0 };
	size_t resource = pb_begin_message(&out, 1);

	put_pair(&out, "host.name", "h");
	put_pair(&out, "service.name", service);
	pb_end_message(&out, resource);
	return out;
}

/* The header of OTEP 4719. */
struct context_head {
	char signature[8];
	uint32_t version, size;
	uint64_t published, payload;
};

static struct context_head *publish_as(const char *name, const struct pb_buffer *payload)
{
	_cleanup_(closep) int fd = memfd_create(name, MFD_CLOEXEC);
	struct context_head *head = NULL;

	if (fd >= 0 && ftruncate(fd, 4096) == 0)
		head = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!head || head == MAP_FAILED)
		abort();
	*head = (struct context_head){ "OTEL_CTX", 2, payload->size, 1, (uintptr_t)payload->data };
	return head;
}

static struct context_head *publish(const struct pb_buffer *payload)
{
	return publish_as("OTEL_CTX", payload);
}

TEST(a_scan_finds_the_arena)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	struct process_scan scan = { 0 };
	uint64_t inode = 0;

	CHECK_INT(process_scan_run(getpid(), arena_file_device(), &scan), 0);
	CHECK_INT(arena_file_identify(b.fd, arena_file_device(), &inode), 0);
	CHECK_INT(scan.arena_inode, inode);

	_cleanup_(closep) int fd = process_scan_open_arena(getpid(), &scan);

	if (fd == -EPERM)
		SKIP("needs CAP_CHECKPOINT_RESTORE");
	CHECK(fd >= 0);
	inode = 0;
	CHECK_INT(arena_file_identify(fd, arena_file_device(), &inode), 0);
	CHECK_INT(scan.arena_inode, inode);
}

TEST(a_disk_file_named_like_an_arena_is_ignored)
{
	_cleanup_(arena_build_done) struct arena_build b = arena_build_make();
	struct process_scan scan = { .arena_inode = 1 };

	CHECK_INT(process_scan_run(getpid(), arena_file_device() + 1, &scan), 0);
	CHECK_INT(scan.arena_inode, 0);
}

TEST(a_scan_of_an_exited_process_fails)
{
	struct process_scan scan;

	CHECK_INT(process_scan_run(UINT32_MAX, arena_file_device(), &scan), -ESRCH);
}

TEST(a_scan_reads_the_service_name)
{
	_cleanup_(pb_buffer_done) struct pb_buffer payload = payload_with("bank");
	struct context_head *head = publish(&payload);
	char name[PROCESS_SCAN_SERVICE_MAX] = "";
	struct process_scan scan;

	CHECK_INT(process_scan_run(getpid(), arena_file_device(), &scan), 0);
	CHECK_INT(scan.context, (uintptr_t)head);
	CHECK(process_scan_read_service(getpid(), arena_file_device(), &scan, name));
	CHECK_STR(name, "bank");
	head->published = 0;
	CHECK(!process_scan_read_service(getpid(), arena_file_device(), &scan, name));
	head->published = 2;
	head->size = UINT32_MAX;
	CHECK(!process_scan_read_service(getpid(), arena_file_device(), &scan, name));
	munmap(head, 4096);
}

TEST(memory_supplied_by_a_file_system_is_not_read)
{
	_cleanup_(pb_buffer_done) struct pb_buffer payload = payload_with("bank");
	struct context_head *head = publish(&payload);
	_cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY);
	void *file = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	char name[PROCESS_SCAN_SERVICE_MAX];
	struct process_scan scan;

	head->payload = (uintptr_t)file;
	CHECK_INT(process_scan_run(getpid(), arena_file_device(), &scan), 0);
	CHECK(!process_scan_read_service(getpid(), arena_file_device(), &scan, name));
	munmap(file, 4096);
	munmap(head, 4096);
}

TEST(a_long_service_name_is_cut_and_a_malformed_one_ignored)
{
	char longest[400] = "", name[PROCESS_SCAN_SERVICE_MAX];

	memset(longest, 'x', sizeof(longest) - 1);
	_cleanup_(pb_buffer_done) struct pb_buffer payload = payload_with(longest);

	CHECK(process_scan_parse_service((struct view){ (char *)payload.data, payload.size },
					 name));
	CHECK_INT(strlen(name), PROCESS_SCAN_SERVICE_MAX - 1);
	for (size_t size = 0; size < payload.size; size++)
		CHECK(!process_scan_parse_service((struct view){ (char *)payload.data, size },
						  name));
}

TEST(a_mapping_with_a_similar_name_is_not_a_process_context)
{
	_cleanup_(pb_buffer_done) struct pb_buffer payload = payload_with("bank");
	struct context_head *head = publish_as("my OTEL_CTX", &payload);
	_cleanup_(closep) int fd = memfd_create("my " SPAN_ARENA_NAME, MFD_CLOEXEC);
	void *arena = MAP_FAILED;
	struct process_scan scan = { .context = 1 };

	if (ftruncate(fd, 4096) == 0)
		arena = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(arena != MAP_FAILED);
	CHECK_INT(process_scan_run(getpid(), arena_file_device(), &scan), 0);
	CHECK_INT(scan.context, 0);
	CHECK_INT(scan.arena_inode, 0);
	munmap(arena, 4096);
	munmap(head, 4096);
}

TEST(a_service_name_that_is_not_a_string_is_ignored)
{
	_cleanup_(pb_buffer_done) struct pb_buffer payload = { 0 };
	char name[PROCESS_SCAN_SERVICE_MAX];
	size_t resource = pb_begin_message(&payload, 1), pair = pb_begin_message(&payload, 1), any;

	put_text(&payload, 1, "service.name");
	any = pb_begin_message(&payload, 2);
	put_text(&payload, 5, "bank"); /* an array */
	pb_end_message(&payload, any);
	pb_end_message(&payload, pair);
	pb_end_message(&payload, resource);
	CHECK(!process_scan_parse_service((struct view){ (char *)payload.data, payload.size },
					  name));
}

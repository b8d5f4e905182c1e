/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: the bytes of a stream, as for fuzz_stream, with correct checksums.  It goes through the
 * pump to top, with short intervals and little memory.  The numbers of each view must fit together.
 */
#include <assert.h>
#include <stdio.h>
#include <sys/mman.h>

#include "report/top_json.h"
#include "top/top.h"
#include "unit/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static int open_bytes(const struct bytes *bytes)
{
	int fd = memfd_create("stream", MFD_CLOEXEC);

	assert(fd >= 0);
	assert(write(fd, bytes->data, bytes->size) == (ssize_t)bytes->size);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void check_account(const struct top_account *account)
{
	double sum = 0;

	for (size_t i = 0; i < account->share_count; i++) {
		assert(account->shares[i].share >= 0);
		assert(i == 0 || account->shares[i].share <= account->shares[i - 1].share);
		sum += account->shares[i].share;
	}
	assert(sum < 1.001);
}

static void check_view(const struct top_view *view)
{
	uint64_t requests = 0, in_flight = 0;

	for (size_t i = 0; i < view->row_count; i++) {
		const struct top_row *row = &view->rows[i];

		assert(row->p50 <= row->p95 && row->p95 <= row->p99 && row->p99 <= row->max);
		check_account(&row->account);
		requests += row->requests;
		in_flight += row->in_flight;
	}
	assert(requests == view->requests && in_flight == view->in_flight);
	assert(view->accounted <= view->requests);
	check_account(&view->all);
}

static void take_view(struct top *top, struct json *j)
{
	struct top_view *view = top_view_new(top);

	check_view(view);
	top_json(j, view);
	top_view_free(view);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	struct bytes given = { (unsigned char *)input, size }, bytes = bytes_copy(&given, size);
	struct live_options options = { .window = NSEC_PER_SEC,
					.interval = NSEC_PER_SEC / 5,
					.memory = 1 << 18 };
	struct top *top = top_new(&(struct top_options){ .budget = 4 });
	struct consumer consumer = top_consumer(top);
	struct out *out = must_alloc(sizeof(*out));
	FILE *file = fopen("/dev/null", "we");
	struct err err = { "" };
	struct live *live;
	struct json j;

	out_init(out, file);
	json_init(&j, out);
	bytes_seal(&bytes);
	live_open_fd(open_bytes(&bytes), &options, &live, &err);
	live_add_consumer(live, &consumer);
	while (live_poll(live, -1, -1, &err) > 0)
		take_view(top, &j);
	out_flush(out);
	fclose(file);
	free(out);
	live_free(live);
	top_free(top);
	bytes_done(&bytes);
	return 0;
}

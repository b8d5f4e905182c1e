/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recordings.h"

#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"
#include "read/input.h"

void recordings_done(struct recordings *r)
{
	vec_done(&r->inputs);
	vec_done(&r->begins);
}

/* The host of a kernel trace as an id, or 0 for spans. */
static int host_of(const char *path, const char *format, struct strtab *hosts, uint32_t *ret,
		   struct err *err)
{
	_cleanup_(input_freep) struct input *input = NULL;
	int r = input_open(path, format, &input, err);

	if (r < 0)
		return r;

	const struct input_host *host = input_host(input);

	/* a host without a name is not told apart from others */
	*ret = host ? strtab_add(hosts, host->name[0] ? host->name : "?").i : 0;
	return 0;
}

static void begin_recording(struct recordings *r)
{
	if (r->begins.count)
		*vec_push(&r->inputs) = NULL;
	*vec_push(&r->begins) = r->inputs.count;
}

static bool has_host(const uint32_t *hosts, size_t from, size_t to, uint32_t host)
{
	for (size_t i = from; i < to; i++)
		if (hosts[i] == host)
			return true;
	return false;
}

/* `hosts` has one for each input. */
static void divide(char **inputs, const uint32_t *hosts, size_t count, struct recordings *ret)
{
	bool has_kernel = false;
	size_t first = 0; /* input of the current recording */

	for (size_t i = 0; i < count; i++)
		has_kernel |= hosts[i];
	for (size_t i = 0; i < count; i++) {
		bool is_next = has_kernel ? hosts[i] && has_host(hosts, first, i, hosts[i]) : i;

		if (!i || is_next) {
			begin_recording(ret);
			first = i;
		}
		*vec_push(&ret->inputs) = inputs[i];
	}
	*vec_push(&ret->inputs) = NULL;
}

int recordings_find(char **inputs, const char *format, struct recordings *ret, struct err *err)
{
	_cleanup_(strtab_freep) struct strtab *names = strtab_new();
	VEC(uint32_t) hosts = { 0 };
	int r = 0;

	for (size_t i = 0; inputs[i] && r == 0; i++)
		r = host_of(inputs[i], format, names, vec_push(&hosts), err);
	if (r == 0)
		divide(inputs, hosts.items, hosts.count, ret);
	vec_done(&hosts);
	return r;
}

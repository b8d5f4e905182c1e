/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/call_span.h"

#include <stdio.h>
#include <string.h>

#include "event/socket_name.h"
#include "event/syscall.h"

const char *call_span_name(const struct call *call, char buffer[static 24])
{
	snprintf(buffer, 24, "syscall_%d", call->nr);
	return syscall_name(call->nr) ?: buffer;
}

/* OpenTelemetry's name for the kind of an error. */
static void put_error(int64_t result, struct otlp_put *put)
{
	const char *name = result < 0 && result >= -4095 ? strerrorname_np(-result) : NULL;
	char number[24];

	if (result >= 0 || result < -4095)
		return;
	snprintf(number, sizeof(number), "errno %d", (int)-result);
	otlp_put_text(put, "error.type", name ?: number);
}

static void put_results(const struct call *call, struct otlp_put *put)
{
	if (call->least == call->most) {
		otlp_put_int(put, "sonde.syscall.result", call->least);
	} else {
		otlp_put_int(put, "sonde.syscall.result_min", call->least);
		otlp_put_int(put, "sonde.syscall.result_max", call->most);
	}
	put_error(call->most, put);
}

/* The socket of all messages that the thread sent or received in these calls; 0 if several. */
static uint64_t socket_of(const struct call *call, const struct model *model)
{
	const struct timeline *messages =
		model_thread(model, call->thread)->timelines[TIMELINE_MESSAGES];
	uint64_t found = 0;

	TIMELINE_EACH_BETWEEN(struct message, m, messages, call->start, call->end)
	{
		if (found && m->object != found)
			return 0;
		found = m->object;
	}
	return found;
}

static void put_peer(const struct call *call, struct otlp_put *put)
{
	uint64_t object = socket_of(call, put->model);
	uint16_t host = model_thread(put->model, call->thread)->host;
	const struct socket *socket = object ? model_socket(put->model, host, object) : NULL;
	struct socket_name name;

	if (!socket)
		return;
	socket_name_init(&name, &socket->address);
	otlp_put_address(put, "peer", name.peer);
}

void call_span_put(const struct wait *wait, bool has_object, struct otlp_put *put)
{
	put_results(&wait->call, put);
	if (!has_object)
		put_peer(&wait->call, put);
	if (wait->count > 1) {
		otlp_put_int(put, "sonde.count", wait->count);
		otlp_put_int(put, "sonde.syscall.time", wait->time);
	}
	if (wait->call_waits)
		otlp_put_int(put, "sonde.wait_time", wait->call_waits);
}

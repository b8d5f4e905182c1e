/* SPDX-License-Identifier: Apache-2.0 */
#include "report/culprit.h"

#include <stdio.h>

#include "analyse/requests/sum.h"
#include "event/socket_name.h"

__attribute__((format(printf, 2, 3))) static struct culprit name_it(const char *kind,
								    const char *fmt, ...)
{
	struct culprit c = { .kind = kind };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c.name, sizeof(c.name), fmt, ap);
	va_end(ap);
	return c;
}

static struct culprit nothing(void)
{
	return name_it("none", "%s", "");
}

static struct culprit name_process(const struct model *model, thread_id thread)
{
	return name_it("process", "%s", request_service(model, thread));
}

/* The first share: the process that used the CPU, or the function that ran. */
static struct culprit name_share(const struct model *model, const struct account *account,
				 const struct node *node)
{
	const struct share *share = &account->shares.items[node->shares];

	if (!node->share_count)
		return nothing();
	return name_it(share->pid ? "process" : "function", "%s", model_string(model, share->name));
}

static struct culprit name_quota(const struct model *model, thread_id id)
{
	const struct thread *thread = model_thread(model, id);
	const struct process *process = model_process(model, thread->host, thread->pid);

	return name_it("quota", "%s", process ? model_string(model, process->cgroup) : "");
}

static struct culprit name_file(const struct model *model, const struct cause *cause)
{
	const char *file = cause ? model_file(model, cause->host, cause->object) : NULL;
	uint32_t number = cause ? model_file_device(model, cause->host, cause->object) : 0;
	const char *device = number ? model_device(model, cause->host, number) : NULL;

	if (file)
		return name_it("file", "%s%s%s", file, device ? " on " : "", device ?: "");
	return device ? name_it("device", "%s", device) : nothing();
}

/* The address at the other end, or else the thread that ended the wait. */
static struct culprit name_peer(const struct model *model, const struct node *node)
{
	const struct thread *thread = model_thread(model, node->thread);
	uint64_t object = node->longest.socket ?: node->cause ? node->cause->object : 0;
	const struct socket *socket = model_socket(model, thread->host, object);
	struct socket_name name = { "", "" };

	if (socket)
		socket_name_init(&name, &socket->address);
	if (name.peer[0])
		return name_it("peer", "%s", name.peer);
	return node->longest.ender.i ? name_process(model, node->longest.ender) : nothing();
}

static bool is_of_span(const struct span_set *spans, const struct account *account,
		       const struct node *node)
{
	const struct span *span = span_set_at(spans, account->span);
	const struct thread *thread = model_thread(spans->model, node->thread);

	return thread->pid == model_thread(spans->model, span->thread)->pid;
}

struct culprit culprit_of(const struct span_set *spans, const struct account *account,
			  uint32_t leaf)
{
	const struct node *node = &account->nodes.items[leaf];
	const struct model *model = spans->model;

	switch (node->state) {
	case STATE_READY:
		return name_share(model, account, node);
	case STATE_THROTTLED:
		return name_quota(model, node->thread);
	case STATE_DISK:
		return name_file(model, node->cause);
	case STATE_RUNNING:
		return is_of_span(spans, account, node) ? name_share(model, account, node)
							: name_process(model, node->thread);
	case STATE_LOCK:
		return node->holder.i ? name_it("lock", "%s", request_service(model, node->holder))
				      : nothing();
	case STATE_NETWORK:
	case STATE_PROCESS:
		return name_peer(model, node);
	default:
		return nothing();
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptions of the objects that records refer to by number.
 *
 * Files, sockets and processes have numbers of their host.  A model can contain several hosts,
 * which use the same numbers for different objects.  So they are looked up together with their
 * host.  Stacks, frames and probe types have numbers of their capture: see stack.c.
 */
#include <string.h>

#include "model/model_internal.h"
#include "model/process_name.h"

str_id model_add_string(struct model *model, const struct source *source, uint32_t id)
{
	return id ? strtab_add(model->strings, source->get_string(source->arg, id)) : (str_id){ 0 };
}

static void add_file(struct model *model, const struct source *source, const struct record_file *r)
{
	*indexed(&model->files, &model->file_index, host_key(source->host, r->object)) =
		(struct named_file){ model_add_string(model, source, r->name), r->device,
				     model_described(model, source) };
}

/* Traces with containers have the cgroup "container/NAME" or "container/NAME/ADDRESS". */
static str_id container_of(struct model *model, str_id cgroup)
{
	static const char prefix[] = "container/";
	const char *name = strtab_get(model->strings, cgroup);

	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return (str_id){ 0 };
	name += strlen(prefix);
	return strtab_add_n(model->strings, name, strcspn(name, "/"));
}

static void add_process(struct model *model, const struct source *source,
			const struct record_process *r)
{
	str_id cgroup = model_add_string(model, source, r->cgroup);

	*indexed(&model->processes, &model->pid_index, host_key(source->host, r->pid)) =
		(struct process){ .cmdline = model_add_string(model, source, r->cmdline),
				  .cgroup = cgroup,
				  .container = container_of(model, cgroup),
				  .described = model_described(model, source) };
}

/*
 * A process that was forked and did not call execve() has the command line of its parent, and no
 * record of its own.  If its comm differs, it has called execve() or renamed itself.
 */
static void inherit_process(struct model *model, const struct thread *thread)
{
	const struct thread *parent = model_thread(model, thread->parent);
	const struct process *of_parent =
		thread->parent.i ? model_process(model, parent->host, parent->pid) : NULL;

	if (!of_parent || parent->host != thread->host)
		return;

	struct process process = *of_parent;

	process.is_inherited = true;
	if (model_process_comm(model, thread->parent).i != thread->comm.i)
		process.cmdline = (str_id){ 0 };
	*indexed(&model->processes, &model->pid_index, host_key(thread->host, thread->pid)) =
		process;
}

static void name_process(struct model *model, const struct thread *thread)
{
	uint64_t key = host_key(thread->host, thread->pid);
	struct process *process = find_indexed(&model->processes, &model->pid_index, key);
	struct process_name name;

	if (process && process->name.i && process->comm.i == thread->comm.i)
		return;
	if (!process || process->is_inherited)
		inherit_process(model, thread);
	process = find_indexed(&model->processes, &model->pid_index, key);
	if (!process)
		return;
	name = process_name(strtab_get(model->strings, thread->comm),
			    strtab_get(model->strings, process->cmdline),
			    strtab_get(model->strings, process->cgroup));
	process->name = strtab_add(model->strings, name.s);
	process->comm = thread->comm;
}

void model_name_processes(struct model *model)
{
	for (uint32_t i = 1; i < model_thread_count(model); i++) {
		const struct thread *thread = model_thread(model, (thread_id){ i });

		if (thread->tid == thread->pid && !thread->kernel && !thread->forgotten)
			name_process(model, thread);
	}
}

static void add_device(struct model *model, const struct source *source,
		       const struct record_device *r)
{
	*indexed(&model->devices, &model->device_index, host_key(source->host, r->device)) =
		(struct named){ model_add_string(model, source, r->name),
				model_described(model, source) };
}

void model_add_description(struct model *model, const struct source *source, const struct record *r)
{
	switch (r->kind) {
	case RECORD_SOCKET:
		model_add_socket(model, source, (const void *)r);
		break;
	case RECORD_FILE:
		add_file(model, source, (const void *)r);
		break;
	case RECORD_PROCESS:
		add_process(model, source, (const void *)r);
		break;
	case RECORD_DEVICE:
		add_device(model, source, (const void *)r);
		break;
	case RECORD_PROBE_TYPE:
		model_add_probe_type(model, source, (const void *)r);
		break;
	case RECORD_STACK:
		model_add_stack(model, source, (const void *)r);
		break;
	case RECORD_FRAME:
		model_add_frame(model, source, (const void *)r);
		break;
	case RECORD_SYMBOL:
		model_add_symbol(model, source, (const void *)r);
		break;
	case RECORD_EPOCH:
		model_add_epoch(model, source);
		break;
	case RECORD_ATTRIBUTE:
		model_add_attribute(model, source, (const void *)r);
		break;
	}
}

const struct process *model_process(const struct model *model, uint16_t host, uint32_t pid)
{
	return find_indexed(&model->processes, &model->pid_index, host_key(host, pid));
}

const struct socket *model_socket(const struct model *model, uint16_t host, uint64_t object)
{
	return find_indexed(&model->sockets, &model->socket_index, host_key(host, object));
}

static const struct named_file *file_of(const struct model *model, uint16_t host, uint64_t object)
{
	return find_indexed(&model->files, &model->file_index, host_key(host, object));
}

bool model_is_listening(const struct model *model, uint16_t host, uint32_t netns, uint16_t port)
{
	return map_find(&model->listeners, listener_key(host, netns, port));
}

const char *model_file(const struct model *model, uint16_t host, uint64_t object)
{
	const struct named_file *file = file_of(model, host, object);

	return file ? strtab_get(model->strings, file->name) : NULL;
}

uint32_t model_file_device(const struct model *model, uint16_t host, uint64_t object)
{
	const struct named_file *file = file_of(model, host, object);

	return file ? file->device : 0;
}

const char *model_device(const struct model *model, uint16_t host, uint32_t device)
{
	const struct named *named =
		find_indexed(&model->devices, &model->device_index, host_key(host, device));

	return named ? strtab_get(model->strings, named->name) : NULL;
}

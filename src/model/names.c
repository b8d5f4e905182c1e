/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptions of the objects that records refer to by number.
 *
 * Files, sockets and processes have numbers of their host; stacks, frames and probe
 * types have numbers of their capture.  A model can contain several hosts and captures,
 * which use the same numbers for different objects.  So the former are looked up together
 * with their host.  The latter get a number of the model when it first appears, which
 * can be before the record that describes it.
 */
#include <string.h>

#include "model/model_internal.h"
#include "model/process_name.h"

str_id model_add_string(struct model *model, const struct source *source, uint32_t id)
{
	return id ? strtab_add(model->strings, source->get_string(source->arg, id)) : (str_id){ 0 };
}

uint32_t model_own_number(struct map *numbers, const struct source *source, uint32_t number)
{
	uint64_t *at;

	if (!number)
		return 0;
	at = map_insert(numbers, (uint64_t)source->input << 32 | number);
	if (!*at)
		*at = numbers->count;
	return *at;
}

static void add_file(struct model *model, const struct source *source, const struct record_file *r)
{
	*indexed(&model->files, &model->file_index, host_key(source->host, r->object)) =
		(struct named_file){ model_add_string(model, source, r->name), r->device };
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
				  .container = container_of(model, cgroup) };
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

	if (model_process_comm(model, thread->parent).i != thread->comm.i)
		process.cmdline = (str_id){ 0 };
	*indexed(&model->processes, &model->pid_index, host_key(thread->host, thread->pid)) =
		process;
}

void model_name_processes(struct model *model)
{
	for (uint32_t i = 1; i < model_thread_count(model); i++) {
		const struct thread *thread = model_thread(model, (thread_id){ i });
		uint64_t key = host_key(thread->host, thread->pid);

		if (thread->tid != thread->pid || thread->kernel)
			continue;
		if (!find_indexed(&model->processes, &model->pid_index, key))
			inherit_process(model, thread);

		struct process *process = find_indexed(&model->processes, &model->pid_index, key);
		struct process_name name;

		if (!process)
			continue;
		name = process_name(strtab_get(model->strings, thread->comm),
				    strtab_get(model->strings, process->cmdline),
				    strtab_get(model->strings, process->cgroup));
		process->name = strtab_add(model->strings, name.s);
	}
}

static void add_device(struct model *model, const struct source *source,
		       const struct record_device *r)
{
	*map_insert(&model->devices, host_key(source->host, r->device)) =
		model_add_string(model, source, r->name).i;
}

static void add_probe_type(struct model *model, const struct source *source,
			   const struct record_probe_type *r)
{
	*map_insert(&model->probe_types, model_own_number(&model->probe_numbers, source, r->type)) =
		model_add_string(model, source, r->name).i;
}

static void add_stack(struct model *model, const struct source *source,
		      const struct record_stack *r)
{
	uint32_t number = model_own_number(&model->stack_numbers, source, r->stack);
	size_t count = (size_t)r->kernel_count + r->user_count;

	*map_insert(&model->stacks, number) = model->stack_frames.count + 1;
	*vec_push(&model->stack_frames) = count;
	*vec_push(&model->stack_frames) = r->kernel_count;
	for (size_t i = 0; i < count; i++)
		*vec_push(&model->stack_frames) =
			model_own_number(&model->frame_numbers, source, r->frames[i]);
}

static struct frame *frame_of(struct model *model, const struct source *source, uint32_t number)
{
	uint32_t own = model_own_number(&model->frame_numbers, source, number);

	while (model->frames.count <= own)
		*vec_push(&model->frames) = (struct frame){ 0 };
	return &model->frames.items[own];
}

static void add_frame(struct model *model, const struct source *source,
		      const struct record_frame *r)
{
	struct frame *frame = frame_of(model, source, r->frame);

	frame->address = r->address;
	frame->module = model_add_string(model, source, r->module);
}

/* With inlined functions, the outermost symbol comes last and stays: it is the one called. */
static void add_symbol(struct model *model, const struct source *source,
		       const struct record_symbol *r)
{
	struct frame *frame = frame_of(model, source, r->frame);

	frame->symbol = model_add_string(model, source, r->name);
	frame->source = model_add_string(model, source, r->source);
	frame->line = r->line;
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
		add_probe_type(model, source, (const void *)r);
		break;
	case RECORD_STACK:
		add_stack(model, source, (const void *)r);
		break;
	case RECORD_FRAME:
		add_frame(model, source, (const void *)r);
		break;
	case RECORD_SYMBOL:
		add_symbol(model, source, (const void *)r);
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

static const char *name_of(const struct model *model, const struct map *map, uint64_t number)
{
	const uint64_t *string = map_find(map, number);

	return string ? strtab_get(model->strings, (str_id){ *string }) : NULL;
}

const char *model_device(const struct model *model, uint16_t host, uint32_t device)
{
	return name_of(model, &model->devices, host_key(host, device));
}

size_t model_probe_type_count(const struct model *model)
{
	return model->probe_numbers.count + 1;
}

const char *model_probe_name(const struct model *model, uint32_t type)
{
	return name_of(model, &model->probe_types, type);
}

struct stack model_stack(const struct model *model, uint32_t stack)
{
	const uint64_t *at = stack ? map_find(&model->stacks, stack) : NULL;

	if (!at)
		return (struct stack){ 0 };

	const uint32_t *words = &model->stack_frames.items[*at - 1];

	return (struct stack){ words + 2, words[0], words[1] };
}

struct frame model_frame(const struct model *model, uint32_t frame)
{
	return frame < model->frames.count ? model->frames.items[frame] : (struct frame){ 0 };
}

const char *model_stack_function(const struct model *model, uint32_t number)
{
	struct stack stack = model_stack(model, number);

	for (size_t i = stack.kernel_count; i < stack.count; i++) {
		struct frame frame = model_frame(model, stack.frames[i]);
		const char *module = model_string(model, frame.module);

		if (frame.symbol.i && !strstr(module, "/libc.so") && !strstr(module, "/libpthread"))
			return model_string(model, frame.symbol);
	}
	return NULL;
}

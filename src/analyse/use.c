/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/use.h"

#include <string.h>

static void count_hit(hit_counts *hits, uint32_t type)
{
	for (size_t i = 0; i < hits->count; i++)
		if (hits->items[i].type == type) {
			hits->items[i].count++;
			return;
		}
	*vec_push(hits) = (struct hit_count){ type, 1 };
}

/*
 * A message's time is its end: a step ends with what it sent, an answer maybe, and begins with
 * what it received.
 */
static void count_message(struct resources *used, const struct message *m, const struct step *step)
{
	if (m->time == (m->direction == MESSAGE_SEND ? step->start : step->end))
		return;
	if (m->direction == MESSAGE_SEND) {
		used->sent += m->bytes;
		used->sends++;
	} else {
		used->received += m->bytes;
		used->receives++;
	}
}

static void count_request(struct resources *used, const struct request *r)
{
	if (r->op == 'R') {
		used->disk_read += r->bytes;
		used->disk_reads++;
	} else {
		used->disk_written += r->bytes;
		used->disk_writes++;
	}
}

/* The part of an interval's interrupt time that falls into a step of it, evenly spread. */
static nsec_t irq_part(const struct model *model, const struct step *step)
{
	struct stretch s;

	if (!model_stretch_at(model, step->thread, step->start, &s) || s.end == s.interval.start)
		return 0;
	return (double)s.interval.irq * (step->end - step->start) / (s.end - s.interval.start);
}

static void count_use(struct resources *used, hit_counts *hits, const struct model *model,
		      const struct step *step)
{
	struct line *const *lines = model_thread(model, step->thread)->lines;

	if (step->state == STATE_READY || step->state == STATE_THROTTLED)
		used->preempted += step->preempted;
	else if (step->state != STATE_RUNNING)
		used->blocked++;
	LINE_EACH_BETWEEN(struct message, m, lines[LINE_MESSAGES], step->start, step->end + 1)
	count_message(used, m, step);
	LINE_EACH_BETWEEN(struct request, r, lines[LINE_REQUESTS], step->start, step->end)
	count_request(used, r);
	LINE_EACH_BETWEEN(struct call, c, lines[LINE_CALLS], step->start, step->end)
	used->calls++;
	LINE_EACH_BETWEEN(struct hit, h, lines[LINE_HITS], step->start, step->end)
	count_hit(hits, h->type);
	if (step->state == STATE_RUNNING)
		used->cpu += step->end - step->start;
}

nsec_t use_add(struct resources *used, hit_counts *hits, const struct model *model,
	       const struct step *step)
{
	if (!step->thread.i || step->flags & (STEP_TRANSIT | STEP_UNEXPLAINED))
		return 0;
	if (!step->other)
		count_use(used, hits, model, step);
	return step->state == STATE_RUNNING ? irq_part(model, step) : 0;
}

static nsec_t overlap(nsec_t a_start, nsec_t a_end, nsec_t b_start, nsec_t b_end)
{
	nsec_t start = a_start > b_start ? a_start : b_start;
	nsec_t end = a_end < b_end ? a_end : b_end;

	return start < end ? end - start : 0;
}

/* Who had the CPU on which the thread ran at last. */
static void share_cpu(const struct model *model, const struct step *step, uint32_t node,
		      use_share_fn *fn, void *arg)
{
	const struct line *turns =
		model_turns(model, model_thread(model, step->thread)->host, step->cpu);
	line_pos pos;

	if (!turns || (!line_find(turns, step->start, &pos) && !line_first(turns, &pos)))
		return;
	do {
		const struct turn *turn = line_at(turns, pos);
		const struct thread *thread = model_thread(model, turn->thread);
		nsec_t part =
			overlap(turn->start, turn->start + turn->length, step->start, step->end);

		if (turn->start >= step->end)
			break;
		if (part)
			fn(arg, node, model_process_comm(model, turn->thread), thread->pid, part);
	} while (line_next(turns, &pos));
}

/* A request is found by its end; none is taken to last longer than this. */
#define LONGEST_REQUEST NSEC_PER_SEC

/* A flush that a worker of the kernel issues is a part of somebody's write. */
static bool is_by_the_kernel(const struct request *r, const struct thread *issuer)
{
	return r->op == 'F' && (issuer->kernel || !issuer->comm.i);
}

/* Whose requests were in the queue of the disk that was waited for. */
static void share_disk(const struct model *model, const struct step *step,
		       const struct cause *cause, uint32_t node, use_share_fn *fn, void *arg)
{
	uint32_t device = cause->object_kind == OBJECT_BLOCK_DEVICE
				  ? cause->object
				  : model_file_device(model, cause->host, cause->object);
	const struct line *queue = model_requests(model, cause->host, device);
	uint32_t pid = model_thread(model, step->thread)->pid;

	LINE_EACH_BETWEEN(struct request, r, queue, step->start, step->end + LONGEST_REQUEST)
	{
		const struct thread *issuer = model_thread(model, r->issuer);
		nsec_t part = overlap(r->start, r->end, step->start, step->end);

		if (part && issuer->pid != pid && !is_by_the_kernel(r, issuer))
			fn(arg, node, model_process_comm(model, r->issuer), issuer->pid, part);
	}
}

/* The function a sample was taken in: the innermost of the program, or else of the kernel. */
static str_id sample_function(const struct model *model, uint32_t number)
{
	struct stack stack = model_stack(model, number);

	if (stack.count > stack.kernel_count)
		return model_frame(model, stack.frames[stack.kernel_count]).symbol;
	return stack.count ? model_frame(model, stack.frames[0]).symbol : (str_id){ 0 };
}

static void share_functions(const struct model *model, const struct step *step, uint32_t node,
			    use_share_fn *fn, void *arg)
{
	const struct line *samples = model_thread(model, step->thread)->lines[LINE_SAMPLES];

	LINE_EACH_BETWEEN(struct sample, s, samples, step->start, step->end)
	{
		str_id name = sample_function(model, s->stack);

		if (name.i)
			fn(arg, node, name, 0, 1);
	}
}

void use_shares(const struct model *model, const struct step *step, const struct cause *cause,
		uint32_t node, use_share_fn *fn, void *arg)
{
	if (!step->thread.i)
		return;
	if (step->state == STATE_READY)
		share_cpu(model, step, node, fn, arg);
	else if (step->state == STATE_DISK && cause &&
		 (cause->object_kind == OBJECT_FILE || cause->object_kind == OBJECT_BLOCK_DEVICE))
		share_disk(model, step, cause, node, fn, arg);
	else if (step->state == STATE_RUNNING)
		share_functions(model, step, node, fn, arg);
}

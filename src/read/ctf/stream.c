/* SPDX-License-Identifier: Apache-2.0 */
#include "read/ctf/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Some tracers end a packet slightly before its last event, or begin it after its first. */
#define TOLERANCE NSEC_PER_SEC

static nsec_t time_of(const struct ctf_stream *s, uint64_t ticks)
{
	uint64_t frequency = s->type->clock->frequency;

	if (frequency != NSEC_PER_SEC) {
		uint64_t part = ticks % frequency;

		ticks = ticks / frequency * NSEC_PER_SEC +
			(uint64_t)((unsigned __int128)part * NSEC_PER_SEC / frequency);
	}
	return ticks + s->type->shift;
}

static void record_damage(struct ctf_stream *s, uint64_t byte, const char *what)
{
	struct ctf_damage *d = s->damage;

	s->lost++;
	if (!d->count++)
		snprintf(d->first, sizeof(d->first), "'%.160s' at byte %" PRIu64 ": %s",
			 s->files.items[s->file].name, byte, what);
}

static const struct ctf_packet unknown_packet = {
	CTF_UNKNOWN, CTF_UNKNOWN, CTF_UNKNOWN, CTF_UNKNOWN, CTF_UNKNOWN,
	CTF_UNKNOWN, CTF_UNKNOWN, CTF_UNKNOWN, CTF_UNKNOWN, CTF_UNKNOWN,
};

/* Reads header and context of a packet; returns NULL or the problem. */
static const char *read_packet_header(const struct ctf_trace *trace,
				      const struct ctf_stream_type **type, struct ctf_bits *in,
				      struct ctf_packet *ret, uint64_t *ret_context_at)
{
	*ret = unknown_packet;
	if (!ctf_program_run(&trace->read_header, in, ret))
		return "truncated packet header";
	if (ret->magic != CTF_UNKNOWN && (uint32_t)ret->magic != CTF_PACKET_MAGIC)
		return "bad packet magic";

	const struct ctf_stream_type *found = ret->stream == CTF_UNKNOWN
						      ? &trace->streams.items[0]
						      : ctf_trace_stream(trace, ret->stream);

	if (!found || (*type && *type != found))
		return "packet of another stream";
	*type = found;
	*ret_context_at = in->at;
	if (!ctf_program_run(&found->read_context, in, ret))
		return "truncated packet context";
	return NULL;
}

int ctf_stream_identify(const struct ctf_trace *trace, struct ctf_file *file,
			struct ctf_packet *ret, struct err *err)
{
	struct ctf_bits in = { file->data, 0, 8 * (uint64_t)file->size };
	const struct ctf_stream_type *type = NULL;
	uint64_t context_at;
	const char *problem = read_packet_header(trace, &type, &in, ret, &context_at);

	if (problem)
		return err_set(err, -EBADMSG, "'%.160s' at byte 0: %s", file->name, problem);
	ret->stream = type->id;
	file->begin = ret->begin;
	return 0;
}

/* Computes the end of the packet's content and the next packet; returns NULL or the problem. */
static const char *check_sizes(struct ctf_stream *s, size_t at, uint64_t *ret_end)
{
	const struct ctf_file *file = &s->files.items[s->file];
	const struct ctf_packet *p = &s->packet;
	uint64_t left = 8 * (uint64_t)(file->size - at);
	uint64_t size = p->size == CTF_UNKNOWN ? left : p->size;
	uint64_t content = p->content == CTF_UNKNOWN ? size : p->content;

	if (size % 8 || content > size || content < s->in.at)
		return "invalid packet size";
	*ret_end = content < left ? content : left;
	s->next_packet = size < left ? at + size / 8 : file->size;
	return content > left ? "truncated packet" : NULL;
}

/* Counts events discarded up to the end of this packet, and packets missing before it. */
static void count_lost(struct ctf_stream *s)
{
	const struct ctf_packet *p = &s->packet;
	uint64_t before = s->discarded == CTF_UNKNOWN ? 0 : s->discarded;

	if (p->discarded != CTF_UNKNOWN) {
		if (p->discarded > before)
			s->lost += p->discarded - before;
		s->discarded = p->discarded;
	}
	if (p->number != CTF_UNKNOWN && s->number != CTF_UNKNOWN && p->number > s->number + 1)
		s->missing += p->number - s->number - 1;
	s->number = p->number;
}

/* Opens the next packet; false at the end of the stream. */
static bool next_packet(struct ctf_stream *s)
{
	const struct ctf_file *file = &s->files.items[s->file];
	size_t at = s->next_packet;

	while (at >= file->size) {
		if (s->file + 1 >= s->files.count)
			return false;
		file = &s->files.items[++s->file];
		at = 0;
	}
	s->in = (struct ctf_bits){ file->data + at, 0, 8 * (uint64_t)(file->size - at) };

	const char *problem =
		read_packet_header(s->trace, &s->type, &s->in, &s->packet, &s->context_at);
	uint64_t end = 0;

	s->next_packet = file->size; /* a damaged packet hides the next one */
	if (!problem)
		problem = check_sizes(s, at, &end);
	if (problem)
		record_damage(s, at, problem);
	s->in.end = end;
	s->has_packet = true;
	if (end == 0) {
		s->packet = unknown_packet;
		return true;
	}
	s->latest = UINT64_MAX;
	if (s->packet.end != CTF_UNKNOWN && s->packet.end > s->packet.begin)
		s->latest = time_of(s, s->packet.end) + TOLERANCE;
	if (s->packet.begin != CTF_UNKNOWN)
		s->header.clock = s->packet.begin;
	if (s->packet.cpu != CTF_UNKNOWN)
		s->cpu = s->packet.cpu;
	count_lost(s);
	return true;
}

/* Reads the header of the next event; returns NULL or the problem. */
static const char *read_event_header(struct ctf_stream *s)
{
	s->header.id = 0;
	if (!ctf_program_run(&s->type->read_header, &s->in, &s->header))
		return "truncated event";
	s->event = ctf_stream_event(s->type, s->header.id);
	if (!s->event)
		return "undeclared event type";

	nsec_t time = time_of(s, s->header.clock);

	if (time > s->latest)
		return "event time after the end of its packet";
	if (time < s->time) {
		if (s->time - time > TOLERANCE)
			return "time goes backwards";
		time = s->time;
	}
	s->time = time;
	s->item = CTF_EVENT;
	return NULL;
}

static uint64_t byte_of(const struct ctf_stream *s)
{
	return s->in.data - s->files.items[s->file].data + s->in.at / 8;
}

static void abandon_packet(struct ctf_stream *s, const char *problem)
{
	record_damage(s, byte_of(s), problem);
	s->in.at = s->in.end;
}

/* Closes a packet; true if the item is now a loss. */
static bool end_packet(struct ctf_stream *s)
{
	nsec_t end = s->packet.end == CTF_UNKNOWN ? 0 : time_of(s, s->packet.end);

	s->has_packet = false;
	if (end > s->time)
		s->time = end;
	if (!s->lost && !s->missing) {
		s->complete_until = s->time;
		return false;
	}
	s->item = CTF_LOSS;
	return true;
}

/* Moves to the next item. */
static void advance(struct ctf_stream *s)
{
	for (;;) {
		while (s->has_packet && s->in.at < s->in.end) {
			const char *problem = read_event_header(s);

			if (!problem)
				return;
			abandon_packet(s, problem);
		}
		if (s->has_packet && end_packet(s))
			return;
		if (!next_packet(s)) {
			s->item = CTF_NO_ITEM;
			return;
		}
	}
}

void ctf_stream_begin(struct ctf_stream *s)
{
	s->discarded = s->number = CTF_UNKNOWN;
	s->next_packet = 0;
	s->file = 0;
	if (s->files.items[0].begin != CTF_UNKNOWN)
		s->complete_until = time_of(s, s->files.items[0].begin);
	advance(s);
}

static void make_loss(struct ctf_stream *s, struct raw_event *ret)
{
	*ret = raw_event_empty(RAW_LOST);
	ret->time = s->time;
	ret->cpu = s->cpu;
	ret->lost.start = s->complete_until < s->time ? s->complete_until : s->time;
	ret->lost.count = s->lost;
	ret->lost.packets = s->missing;
	s->lost = s->missing = 0;
	s->complete_until = s->time;
}

bool ctf_stream_pop(struct ctf_stream *s, struct raw_event *ret)
{
	bool is_good = true;

	if (s->item == CTF_EVENT) {
		*ret = s->event->blank;
		ret->time = s->time;
		ret->cpu = s->cpu;
		is_good = ctf_program_run(&s->event->program, &s->in, ret);
		if (!is_good)
			abandon_packet(s, "truncated event");
	} else {
		make_loss(s, ret);
	}
	advance(s);
	return is_good;
}

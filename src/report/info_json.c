/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "report/info.h"
#include "report/kind.h"

static void put_string(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_string(j, s);
}

static void put_u64(struct json *j, const char *key, uint64_t n)
{
	json_key(j, key);
	json_u64(j, n);
}

static void put_file(struct json *j, const struct info *info)
{
	put_string(j, "file", info->file);
	put_string(j, "format", "sonde");
	put_u64(j, "version", info->meta->version);
	json_key(j, "complete");
	json_bool(j, info->complete);
	if (*info->damage.text)
		put_string(j, "damage", info->damage.text);
	else if (!info->complete)
		put_u64(j, "cut_at", info->cut_at);
	put_u64(j, "size", info->size);
}

static void put_meta(struct json *j, const struct info *info)
{
	const struct capture_meta *meta = info->meta;

	put_string(j, "host", meta->host);
	put_string(j, "kernel", meta->kernel);
	put_string(j, "machine", meta->machine);
	put_u64(j, "cpus", meta->cpu_count);
	put_string(j, "command", meta->command);
	put_string(j, "tool", meta->tool);
	put_u64(j, "start", meta->start);
	put_u64(j, "start_realtime", meta->start + (uint64_t)meta->realtime_offset);
	put_u64(j, "duration", info->end - meta->start);
}

static void put_counts(struct json *j, const struct info *info)
{
	put_u64(j, "threads", info->threads);
	put_u64(j, "processes", info->processes);
	put_u64(j, "neighbours", info->neighbours);
	json_key(j, "records");
	json_object(j);
	for (unsigned kind = 1; kind < RECORD_KIND_COUNT; kind++)
		if (info->records[kind])
			put_u64(j, kind_name(kind), info->records[kind]);
	if (info->unknown)
		put_u64(j, "unknown", info->unknown);
	json_end(j);
	put_u64(j, "events", info->total);
}

static void put_intervals(struct json *j, const struct info *info)
{
	json_key(j, "intervals");
	json_object(j);
	for (const char *letter = state_letters; *letter; letter++) {
		const struct info_state *state = &info->states[(unsigned char)*letter];
		if (!state->count)
			continue;
		json_key(j, (const char[]){ *letter, '\0' });
		json_object(j);
		put_u64(j, "count", state->count);
		put_u64(j, "ns", state->time);
		if (*letter == STATE_RUNNING)
			put_u64(j, "irq_ns", info->irq);
		json_end(j);
	}
	json_end(j);
	put_u64(j, "spans", info->records[RECORD_SPAN]);
}

static void put_losses(struct json *j, const struct info *info)
{
	put_u64(j, "lost", info->lost);
	json_key(j, "losses");
	json_array(j);
	for (size_t i = 0; i < info->losses.count; i++) {
		const struct info_loss *loss = &info->losses.items[i];
		json_object(j);
		put_u64(j, "cpu", loss->cpu);
		put_u64(j, "start", loss->start);
		put_u64(j, "end", loss->end);
		put_u64(j, "count", loss->count);
		json_end(j);
	}
	json_end(j);
}

int info_json(const struct info *info, FILE *file)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	struct json j;

	out_init(out, file);
	json_init(&j, out);
	json_object(&j);
	put_file(&j, info);
	put_meta(&j, info);
	put_counts(&j, info);
	put_intervals(&j, info);
	put_losses(&j, info);
	json_end(&j);
	json_newline(&j);
	return out_flush(out);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "report/info.h"
#include "report/json_put.h"
#include "event/kind.h"

/* A number that is 0 if unknown. */
static void put_known(struct json *j, const char *key, uint64_t n)
{
	if (n)
		put_u64(j, key, n);
}

/* A string that is NULL if unknown. */
static void put_known_string(struct json *j, const char *key, const char *s)
{
	if (s)
		put_string(j, key, s);
}

static void put_file(struct json *j, const struct info *info)
{
	const struct info_origin *origin = &info->origin;

	put_string(j, "file", origin->file);
	put_string(j, "format", origin->format);
	put_known(j, "version", origin->version);
	put_bool(j, "complete", !origin->cut && !*info->damage.text);
	if (*info->damage.text)
		put_string(j, "damage", info->damage.text);
	else if (origin->cut)
		put_u64(j, "truncated_at", origin->cut_at);
	put_u64(j, "size", origin->size);
}

static void put_origin(struct json *j, const struct info *info)
{
	const struct info_origin *origin = &info->origin;

	put_known_string(j, "host", origin->host);
	put_known_string(j, "kernel", origin->kernel);
	put_known_string(j, "architecture", origin->machine);
	put_known(j, "cpus", origin->cpu_count ?: info->cpus);
	put_known_string(j, "command", origin->command);
	put_known_string(j, "tool", origin->tool);
	put_u64(j, "start", info->begin);
	put_known(j, "start_realtime", info_realtime(info));
	put_u64(j, "duration", info->end - info->begin);
}

static void put_counts(struct json *j, const struct info *info)
{
	put_u64(j, "threads", info->counts.threads);
	put_u64(j, "processes", info->counts.processes);
	put_u64(j, "out_of_scope_threads", info->counts.out_of_scope);
	json_key(j, "records");
	json_object(j);
	for (unsigned kind = 1; kind < RECORD_KIND_COUNT; kind++)
		if (info->records[kind])
			put_u64(j, kind_name(kind), info->records[kind]);
	put_known(j, "unknown", info->unknown);
	json_end(j);
	put_u64(j, "events", info->events);
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
		put_u64(j, "duration", state->time);
		if (*letter == STATE_RUNNING)
			put_u64(j, "irq_time", info->irq);
		json_end(j);
	}
	json_end(j);
}

static void put_spans(struct json *j, const struct info *info)
{
	_cleanup_(freep) uint32_t *ids = info_services(info);

	put_u64(j, "spans", info->records[RECORD_SPAN]);
	if (!info->records[RECORD_SPAN])
		return;
	put_u64(j, "traces", info->traces.count);
	put_u64(j, "multi_root_traces", info->multi_root_traces);
	put_u64(j, "errors", info->span_errors);
	json_key(j, "services");
	json_array(j);
	for (size_t i = 0; i < info->services.count; i++) {
		const struct info_service *service = &info->services.items[ids[i]];
		if (!service->spans)
			continue;
		json_object(j);
		put_string(j, "name", strtab_get(info->service_names, (str_id){ ids[i] }));
		put_u64(j, "spans", service->spans);
		put_u64(j, "errors", service->errors);
		json_end(j);
	}
	json_end(j);
}

static void put_losses(struct json *j, const struct info *info)
{
	put_u64(j, "lost", info->lost);
	put_u64(j, "lost_by_agents", info->lost_by_agents);
	put_u64(j, "lost_packets", info->lost_packets);
	json_key(j, "losses");
	json_array(j);
	for (size_t i = 0; i < info->losses.count; i++) {
		const struct info_loss *loss = &info->losses.items[i];
		json_object(j);
		put_u64(j, loss->tid ? "tid" : "cpu", loss->tid ? loss->tid : loss->cpu);
		put_u64(j, "start", loss->start);
		put_u64(j, "end", loss->end);
		put_u64(j, "count", loss->count);
		if (loss->packets)
			put_u64(j, "packets", loss->packets);
		json_end(j);
	}
	json_end(j);
}

/* Present only in captures with COUNTER records. */
static void put_counters(struct json *j, const struct info *info)
{
	struct counter_sums sums;

	if (!info->records[RECORD_COUNTER])
		return;
	json_key(j, "counters");
	json_object(j);
	for (unsigned int i = 0; i < COUNTER_COUNT; i++)
		if (counter_name(i))
			put_u64(j, counter_name(i), info->counters.n[i]);
	json_end(j);
	json_key(j, "discrepancies");
	json_array(j);
	for (size_t i = 0; counter_check(&info->counters, i, !info->is_piece, &sums); i++) {
		if (sums.before == sums.after)
			continue;
		json_object(j);
		put_string(j, "what", sums.what);
		put_string(j, "from", sums.in);
		put_string(j, "to", sums.out);
		put_u64(j, "before", sums.before);
		put_u64(j, "after", sums.after);
		json_end(j);
	}
	json_end(j);
}

static void put_warnings(struct json *j, const struct info *info)
{
	const char *warning;
	size_t len;

	json_key(j, "warnings");
	json_array(j);
	for (size_t i = 0; (warning = info_warning(info, i, &len)); i++)
		json_string_n(j, warning, len);
	json_end(j);
}

void info_json(const struct info *info, struct json *j)
{
	json_object(j);
	put_file(j, info);
	put_origin(j, info);
	put_counts(j, info);
	put_intervals(j, info);
	put_spans(j, info);
	put_losses(j, info);
	put_counters(j, info);
	put_warnings(j, info);
	json_end(j);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/annotate_status.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "base/vec.h"
#include "cli/annotate_services.h"

enum value_type {
	VALUE_COUNTER,
	VALUE_GAUGE,
	VALUE_SECONDS,
	VALUE_SECONDS_COUNTER,
	VALUE_RATIO,
};

/* A value under its name, which is the key of JSON and, after "sonde_annotate_", of Prometheus. */
struct status_value {
	const char *name;
	enum value_type type;
	uint64_t number; /* SECONDS and RATIO: billionths */
	const char *help;
	const char *part; /* NULL; or a process: a label of Prometheus, a prefix in JSON */
};

struct status_values {
	VEC(struct status_value) list;
};

static void status_values_done(struct status_values *v)
{
	vec_done(&v->list);
}

static void put(struct status_values *v, const char *name, enum value_type type, uint64_t number,
		const char *help)
{
	*vec_push(&v->list) = (struct status_value){ name, type, number, help, NULL };
}

static void put_cpu_time(struct status_values *v, const char *part, nsec_t time)
{
	put(v, "cpu_seconds", VALUE_SECONDS_COUNTER, time, "CPU time, by process.");
	v->list.items[v->list.count - 1].part = part;
}

static void put_refused(struct status_values *v, const struct status_source *s)
{
	uint64_t invalid = 0, refused = 0;

	for (int server = 0; server < 2; server++) {
		const struct receive_counters *c = relay_receive_counters(s->relay, server);

		invalid += c->invalid;
		refused += c->unavailable + c->too_large + c->no_memory + c->unsupported +
			   c->cross_origin;
	}
	put(v, "requests_invalid", VALUE_COUNTER, invalid, "Malformed export requests.");
	put(v, "requests_refused", VALUE_COUNTER, refused,
	    "Export requests that were too large, unsupported or more than fit into memory.");
}

static void put_traffic(struct status_values *v, const struct status_source *s)
{
	struct relay_counts n = relay_counts(s->relay);
	struct sender_counts traces = relay_sender_counts(s->relay, OTLP_TRACES);
	struct sender_counts metrics = relay_sender_counts(s->relay, OTLP_METRICS);
	struct sender_counts logs = relay_sender_counts(s->relay, OTLP_LOGS);

	put(v, "spans_received", VALUE_COUNTER, n.received[OTLP_TRACES], "Spans of services.");
	put(v, "spans_forwarded", VALUE_COUNTER, traces.forwarded.items,
	    "Spans that the collector accepted, with those that sonde added.");
	put(v, "spans_dropped", VALUE_COUNTER,
	    n.dropped[OTLP_TRACES] + traces.expired.items + traces.unsent.items,
	    "Spans dropped because the queue was full, or they were too old.");
	put(v, "spans_rejected", VALUE_COUNTER, traces.rejected.items,
	    "Spans that the collector rejected.");
	put(v, "metrics_received", VALUE_COUNTER, n.received[OTLP_METRICS], "Data points.");
	put(v, "metrics_forwarded", VALUE_COUNTER, metrics.forwarded.items, "Data points.");
	put(v, "logs_received", VALUE_COUNTER, n.received[OTLP_LOGS], "Log records.");
	put(v, "logs_forwarded", VALUE_COUNTER, logs.forwarded.items, "Log records.");
	put_refused(v, s);
	put(v, "export_retries", VALUE_COUNTER, traces.retries + metrics.retries + logs.retries,
	    "Exports that failed temporarily.");
	put(v, "queue_bytes", VALUE_GAUGE,
	    traces.queued_bytes + metrics.queued_bytes + logs.queued_bytes,
	    "Memory of requests that wait for the collector.");
}

static void put_annotations(struct status_values *v, const struct status_source *s)
{
	struct relay_counts n = relay_counts(s->relay);
	const struct annotate_status *w = s->worker;

	put(v, "spans_slow", VALUE_COUNTER, n.slow, "Spans above their threshold.");
	put(v, "spans_annotated", VALUE_COUNTER, n.annotated, "Slow spans annotated in place.");
	put(v, "spans_annotated_late", VALUE_COUNTER, w->late,
	    "Slow spans annotated by a child span, as they had been forwarded before.");
	put(v, "spans_added", VALUE_COUNTER, n.added, "Spans that sonde sent on their own.");
	put(v, "spans_joined", VALUE_COUNTER, w->joined,
	    "Slow spans without a thread, annotated by the request that they serve.");
	put(v, "spans_unrecorded", VALUE_COUNTER, w->unrecorded,
	    "Slow spans without recorded threads.");
	put(v, "spans_unasked", VALUE_COUNTER, n.unasked + w->too_many,
	    "Slow spans without annotation, because sonde was too busy.");
	put(v, "critical_paths", VALUE_COUNTER, w->paths,
	    "Slow roots with a critical path through several services.");
	put(v, "critical_paths_shed", VALUE_COUNTER, w->paths_shed,
	    "Slow roots without one, because too many waited.");
	put(v, "spans_unshared", VALUE_COUNTER, n.unshared,
	    "Spans that critical paths and parents do not show, as there were too many.");
	put(v, "requests_exported", VALUE_COUNTER, w->requests,
	    "Requests of services without an SDK, exported as spans.");
	put(v, "requests_in_traces", VALUE_COUNTER, w->requests_placed,
	    "Of these, in the trace of an SDK.");
	put(v, "requests_shed", VALUE_COUNTER, w->requests_shed, "Of these, too many.");
	put(v, "spans_compared", VALUE_COUNTER, w->deviations.compared,
	    "Spans that were compared with the baseline.");
	put(v, "requests_uncompared", VALUE_COUNTER, w->deviations.skipped,
	    "Requests that were not, because there were too many.");
	put(v, "spans_deviating", VALUE_COUNTER, w->deviations.found,
	    "Spans that leave their baseline.");
	put(v, "deviations_shed", VALUE_COUNTER, w->deviations.shed,
	    "Of these, without annotation, as there were too many.");
	put(v, "annotations_lost", VALUE_COUNTER, n.late + w->unsent,
	    "Annotations that came too late or did not fit.");
}

static void put_health(struct status_values *v, const struct status_source *s)
{
	const struct annotate_status *w = s->worker;

	put(v, "processes", VALUE_GAUGE, w->processes, "Processes that are recorded.");
	put(v, "processes_refused", VALUE_COUNTER, w->scope_refused,
	    "How often a process with an agent was not recorded because of limits.");
	put(v, "records", VALUE_COUNTER, w->records, "Kernel records read.");
	put(v, "records_lost", VALUE_COUNTER, w->lost, "Kernel records lost.");
	put(v, "recorder_restarts", VALUE_COUNTER, w->restarts, "Starts after the first.");
	put(v, "worker_restarts", VALUE_COUNTER, s->worker_restarts, "Starts after the first.");
	put(v, "worker_up", VALUE_GAUGE, s->worker_runs, "Whether the annotating process runs.");
	put(v, "recorder_up", VALUE_GAUGE, s->worker_runs && !w->problem[0],
	    "Whether records come.");
	put(v, "services_omitted", VALUE_COUNTER, w->services_omitted,
	    "Processes without wake-up latency, because there are too many services.");
	put(v, "look_back_seconds", VALUE_SECONDS, w->window, "Time that the window holds.");
	put(v, "lag_seconds", VALUE_SECONDS, w->lag, "Age of the newest record.");
	put(v, "window_bytes", VALUE_GAUGE, w->memory, "Memory of the window.");
	put(v, "syscalls_all", VALUE_GAUGE, w->syscalls.is_all,
	    "Whether the system calls of all recorded processes are recorded.");
	put(v, "syscalls_processes", VALUE_GAUGE, w->syscalls.pid_count,
	    "Processes whose system calls are recorded because their spans are slow.");
	put(v, "syscalls_switched", VALUE_COUNTER, w->syscalls.switched,
	    "Processes for which that was switched on.");
	put(v, "syscalls_unfit", VALUE_COUNTER, w->syscalls.not_fit,
	    "Slow spans for which it was not, because there were too many.");
	put_cpu_time(v, "relay", clock_cpu_time());
	put_cpu_time(v, "worker", w->cpu);
	put_cpu_time(v, "recorder", w->recorder_cpu);
	put(v, "cpu_ratio", VALUE_RATIO, w->cpu_share * 1e9, "Share of one CPU that they use.");
	put(v, "budget_ratio", VALUE_RATIO, s->budget * 1e9,
	    "Share of one CPU above which detail is shed; 0 is no limit.");
	put(v, "detail_level", VALUE_GAUGE, w->detail_level,
	    "0 is full; 1 without stacks; 2 also without system calls; 3 also without other "
	    "tasks.");
}

static struct status_values values_of(const struct status_source *s)
{
	struct status_values v = { 0 };

	put_traffic(&v, s);
	put_annotations(&v, s);
	put_health(&v, s);
	return v;
}

static bool is_real(const struct status_value *value)
{
	return value->type == VALUE_SECONDS || value->type == VALUE_SECONDS_COUNTER ||
	       value->type == VALUE_RATIO;
}

static void print_metric(const struct status_value *value, bool is_first, FILE *file)
{
	bool is_counter = value->type == VALUE_COUNTER || value->type == VALUE_SECONDS_COUNTER;
	const char *end = is_counter ? "_total" : "";

	if (is_first)
		fprintf(file, "# HELP sonde_annotate_%s%s %s\n# TYPE sonde_annotate_%s%s %s\n",
			value->name, end, value->help, value->name, end,
			is_counter ? "counter" : "gauge");
	fprintf(file, "sonde_annotate_%s%s", value->name, end);
	if (value->part)
		fprintf(file, "{part=\"%s\"}", value->part);
	if (is_real(value))
		fprintf(file, " %.9g\n", value->number / 1e9);
	else
		fprintf(file, " %ju\n", (uintmax_t)value->number);
}

/* Which processes have their system calls recorded. */
static void print_process_metrics(FILE *file, const struct switch_state *s)
{
	if (s->pid_count)
		fprintf(file, "# HELP sonde_annotate_syscalls_process A process whose system calls "
			      "are recorded.\n# TYPE sonde_annotate_syscalls_process gauge\n");
	for (size_t i = 0; i < s->pid_count; i++)
		fprintf(file, "sonde_annotate_syscalls_process{pid=\"%u\"} 1\n", s->pids[i]);
}

char *status_metrics(const struct status_source *source)
{
	_cleanup_(status_values_done) struct status_values v = values_of(source);
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	for (size_t i = 0; file && i < v.list.count; i++)
		print_metric(&v.list.items[i],
			     !i || strcmp(v.list.items[i - 1].name, v.list.items[i].name) != 0,
			     file);
	if (file) {
		print_process_metrics(file, &source->worker->syscalls);
		services_metrics(file, source->services, source->service_count);
		fclose(file);
	}
	return text;
}

char *status_json(const struct status_source *source)
{
	_cleanup_(status_values_done) struct status_values v = values_of(source);
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	_cleanup_(freep) char *scope = annotate_scope_text(source->scope, source->worker);
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	struct json j;

	if (!file)
		return NULL;
	out_init(out, file);
	json_init(&j, out);
	json_object(&j);
	json_key(&j, "collector");
	json_string(&j, source->collector);
	json_key(&j, "problem");
	json_string(&j, source->worker->problem);
	json_key(&j, "scope");
	json_string(&j, scope);
	json_key(&j, "syscalls_pids");
	json_array(&j);
	for (size_t i = 0; i < source->worker->syscalls.pid_count; i++)
		json_u64(&j, source->worker->syscalls.pids[i]);
	json_end(&j);
	json_key(&j, "detail");
	json_string(&j, status_detail(source->worker, source->budget).s);
	for (size_t i = 0; i < v.list.count; i++) {
		char key[64];

		snprintf(key, sizeof(key), "%s%s%s", v.list.items[i].part ?: "",
			 v.list.items[i].part ? "_" : "", v.list.items[i].name);
		json_key(&j, key);
		if (is_real(&v.list.items[i]))
			json_real(&j, v.list.items[i].number / 1e9);
		else
			json_u64(&j, v.list.items[i].number);
	}
	services_json(&j, source->services, source->service_count);
	json_end(&j);
	json_newline(&j);
	out_flush(out);
	fclose(file);
	return text;
}

struct detail_text status_detail(const struct annotate_status *worker, double budget)
{
	static const char *const names[DETAIL_COUNT] = { [DETAIL_STACKS] = "stacks",
							 [DETAIL_SYSCALLS] = "system calls",
							 [DETAIL_OTHER_TASKS] = "other tasks" };
	struct detail_text t = { "" };
	size_t n = 0, shed = 0, left = 0;

	for (enum detail d = DETAIL_STACKS; d < DETAIL_COUNT; d++)
		left += worker->sheds[d];
	for (enum detail d = DETAIL_STACKS; d < DETAIL_COUNT; d++)
		if (worker->sheds[d]) {
			n += snprintf(t.s + n, sizeof(t.s) - n, "%s%s",
				      !shed++     ? "without "
				      : left == 1 ? " and "
						  : ", ",
				      names[d]);
			left--;
		}
	n += snprintf(t.s + n, sizeof(t.s) - n, "%s: used %.3g %% of a CPU", shed ? "" : "full",
		      100 * worker->cpu_share);
	if (budget > 0)
		snprintf(t.s + n, sizeof(t.s) - n, ", budget %g %%", 100 * budget);
	return t;
}

/* What a line about the collector ends with. */
static void print_collector(FILE *file, const struct status_source *s)
{
	struct sender_counts traces = relay_sender_counts(s->relay, OTLP_TRACES);

	fprintf(file, "collector  %s: %s queued, %s retries", s->collector,
		format_size(traces.queued_bytes).s, format_count(traces.retries).s);
	if (traces.last_error[0] && traces.last_failure > traces.last_success)
		fprintf(file, "; %s", traces.last_error);
	fputc('\n', file);
}

static void print_syscalls(FILE *file, const struct switch_state *s)
{
	if (s->is_all)
		fprintf(file, "syscalls   of all recorded processes\n");
	for (size_t i = 0; i < s->pid_count; i++)
		fprintf(file, "%s%u",
			i ? ", " : "syscalls   of processes with slow spans: ", s->pids[i]);
	if (s->pid_count)
		fputc('\n', file);
}

static void print_recorder(FILE *file, const struct status_source *s)
{
	const struct annotate_status *w = s->worker;
	_cleanup_(freep) char *scope = annotate_scope_text(s->scope, w);

	fprintf(file, "scope      %s\n", scope);
	fprintf(file, "recorder   %s records, %s lost; holds the last %s in %s\n",
		format_count(w->records).s, format_count(w->lost).s, format_time(w->window).s,
		format_size(w->memory).s);
	print_syscalls(file, &w->syscalls);
	if (w->problem[0] || !s->worker_runs)
		fprintf(file, "problem    %s\n",
			s->worker_runs ? w->problem : "the annotating process does not run");
	fprintf(file, "detail     %s\n", status_detail(w, s->budget).s);
	fprintf(file, "CPU time   relay %s, worker %s, recorder %s\n",
		format_time(clock_cpu_time()).s, format_time(w->cpu).s,
		format_time(w->recorder_cpu).s);
}

char *status_text(const struct status_source *source)
{
	struct relay_counts n = relay_counts(source->relay);
	struct sender_counts traces = relay_sender_counts(source->relay, OTLP_TRACES);
	const struct annotate_status *w = source->worker;
	uint64_t dropped = n.dropped[OTLP_TRACES] + traces.expired.items + traces.unsent.items;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	fprintf(file, "spans      %s received, %s added, %s forwarded, %s dropped, %s rejected\n",
		format_count(n.received[OTLP_TRACES]).s, format_count(n.added).s,
		format_count(traces.forwarded.items).s, format_count(dropped).s,
		format_count(traces.rejected.items).s);
	fprintf(file, "slow       %s: %s annotated, %s later by a child span, %s not recorded\n",
		format_count(n.slow).s, format_count(n.annotated).s, format_count(w->late).s,
		format_count(w->unrecorded).s);
	print_collector(file, source);
	print_recorder(file, source);
	services_text(file, source->services, source->service_count);
	fclose(file);
	return text;
}

static size_t write_body(char *bytes, size_t size, size_t count, void *file)
{
	return fwrite(bytes, size, count, file);
}

int relay_get_page(const char *address, const char *path, FILE *file, struct err *err)
{
	bool has_host = strchr(address, ':');
	_cleanup_(freep) char *url =
		must_printf("http://%s%s%s", has_host ? "" : "localhost:", address, path);
	CURL *curl = curl_easy_init();
	CURLcode result;

	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, 5L);
	curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
	curl_easy_setopt(curl, CURLOPT_MAXFILESIZE, 1L << 20);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, write_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, file);
	result = curl_easy_perform(curl);
	curl_easy_cleanup(curl);
	if (result != CURLE_OK)
		return err_set(err, -EIO, "cannot reach 'sonde annotate' at '%s': %s", address,
			       curl_easy_strerror(result));
	return 0;
}

int status_show(const char *address, bool json, struct err *err)
{
	return relay_get_page(address, json ? "/status" : "/", stdout, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/annotate_status.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/json.h"
#include "base/text.h"

enum value_type { VALUE_COUNTER, VALUE_GAUGE, VALUE_SECONDS, VALUE_SECONDS_COUNTER };

/* A value under its name, which is the key of JSON and, after "sonde_annotate_", of Prometheus. */
struct status_value {
	const char *name;
	enum value_type type;
	uint64_t number; /* SECONDS: ns */
	const char *help;
};

enum { VALUES_MAX = 48 };

struct status_values {
	struct status_value items[VALUES_MAX];
	size_t count;
};

static void put(struct status_values *v, const char *name, enum value_type type, uint64_t number,
		const char *help)
{
	v->items[v->count++] = (struct status_value){ name, type, number, help };
}

static nsec_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
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
	put(v, "annotations_lost", VALUE_COUNTER, n.late + w->unsent,
	    "Annotations that came too late or did not fit.");
}

static void put_health(struct status_values *v, const struct status_source *s)
{
	const struct annotate_status *w = s->worker;

	put(v, "records", VALUE_COUNTER, w->records, "Kernel records read.");
	put(v, "records_lost", VALUE_COUNTER, w->lost, "Kernel records lost.");
	put(v, "recorder_restarts", VALUE_COUNTER, w->restarts, "Starts after the first.");
	put(v, "worker_restarts", VALUE_COUNTER, s->worker_restarts, "Starts after the first.");
	put(v, "worker_up", VALUE_GAUGE, s->worker_runs, "Whether the annotating process runs.");
	put(v, "recorder_up", VALUE_GAUGE, s->worker_runs && !w->problem[0],
	    "Whether records come.");
	put(v, "look_back_seconds", VALUE_SECONDS, w->window, "Time that the window holds.");
	put(v, "lag_seconds", VALUE_SECONDS, w->lag, "Age of the newest record.");
	put(v, "window_bytes", VALUE_GAUGE, w->memory, "Memory of the window.");
	put(v, "relay_cpu_seconds", VALUE_SECONDS_COUNTER, cpu_time(), "CPU time.");
	put(v, "worker_cpu_seconds", VALUE_SECONDS_COUNTER, w->cpu, "CPU time.");
	put(v, "recorder_cpu_seconds", VALUE_SECONDS_COUNTER, w->recorder_cpu, "CPU time.");
}

static struct status_values values_of(const struct status_source *s)
{
	struct status_values v = { 0 };

	put_traffic(&v, s);
	put_annotations(&v, s);
	put_health(&v, s);
	return v;
}

static bool is_time(const struct status_value *value)
{
	return value->type == VALUE_SECONDS || value->type == VALUE_SECONDS_COUNTER;
}

char *status_metrics(const struct status_source *source)
{
	struct status_values v = values_of(source);
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	for (size_t i = 0; file && i < v.count; i++) {
		const struct status_value *value = &v.items[i];
		bool is_counter =
			value->type == VALUE_COUNTER || value->type == VALUE_SECONDS_COUNTER;
		const char *end = is_counter ? "_total" : "";

		fprintf(file, "# HELP sonde_annotate_%s%s %s\n# TYPE sonde_annotate_%s%s %s\n",
			value->name, end, value->help, value->name, end,
			is_counter ? "counter" : "gauge");
		if (is_time(value))
			fprintf(file, "sonde_annotate_%s%s %.9g\n", value->name, end,
				value->number / 1e9);
		else
			fprintf(file, "sonde_annotate_%s%s %ju\n", value->name, end,
				(uintmax_t)value->number);
	}
	if (file)
		fclose(file);
	return text;
}

char *status_json(const struct status_source *source)
{
	struct status_values v = values_of(source);
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
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
	for (size_t i = 0; i < v.count; i++) {
		json_key(&j, v.items[i].name);
		if (is_time(&v.items[i]))
			json_real(&j, v.items[i].number / 1e9);
		else
			json_u64(&j, v.items[i].number);
	}
	json_end(&j);
	json_newline(&j);
	out_flush(out);
	fclose(file);
	return text;
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

static void print_recorder(FILE *file, const struct status_source *s)
{
	const struct annotate_status *w = s->worker;

	fprintf(file, "recorder   %s records, %s lost; holds the last %s in %s\n",
		format_count(w->records).s, format_count(w->lost).s, format_time(w->window).s,
		format_size(w->memory).s);
	if (w->problem[0] || !s->worker_runs)
		fprintf(file, "problem    %s\n",
			s->worker_runs ? w->problem : "the annotating process does not run");
	fprintf(file, "CPU time   relay %s, worker %s, recorder %s\n", format_time(cpu_time()).s,
		format_time(w->cpu).s, format_time(w->recorder_cpu).s);
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
	fclose(file);
	return text;
}

static size_t print_body(char *bytes, size_t size, size_t count, void *arg)
{
	(void)arg;
	return fwrite(bytes, size, count, stdout);
}

int status_show(const char *address, bool json, struct err *err)
{
	bool has_host = strchr(address, ':');
	_cleanup_(freep) char *url = must_printf(
		"http://%s%s%s", has_host ? "" : "localhost:", address, json ? "/status" : "/");
	CURL *curl = curl_easy_init();
	CURLcode result;

	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, 5L);
	curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, print_body);
	result = curl_easy_perform(curl);
	curl_easy_cleanup(curl);
	if (result != CURLE_OK)
		return err_set(err, -EIO, "cannot get the status of 'sonde annotate' from '%s': %s",
			       address, curl_easy_strerror(result));
	return 0;
}

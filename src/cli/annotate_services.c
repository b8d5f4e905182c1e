/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/annotate_services.h"

#include "base/sort.h"
#include "base/text.h"
#include "event/sched_policy.h"

enum { LINES_MAX = 10 };

static struct sched_priority_text priority_of(const struct service_latency *s)
{
	return sched_priority_text(s->cpu_policy, s->cpu_priority);
}

/* Control characters of foreign names do not reach a terminal. */
static void print_name(FILE *file, const char *s)
{
	for (; *s; s++)
		fputc((unsigned char)*s < ' ' || *s == 0x7f ? '?' : *s, file);
}

static void print_service(FILE *file, const struct service_latency *s)
{
	fputs("wake-ups   ", file);
	print_name(file, s->service);
	fprintf(file, ": mean %s, max %s", format_time(s->mean).s, format_time(s->max).s);
	if (s->cpu_thread[0]) {
		fputs(" behind ", file);
		print_name(file, s->cpu_thread);
		fprintf(file, " (%u", s->cpu_pid);
		if (s->cpu_policy)
			fprintf(file, ", %s", priority_of(s).s);
		fputc(')', file);
	}
	fputc('\n', file);
}

void services_text(FILE *file, const struct service_latency *services, size_t count)
{
	struct service_latency sorted[SERVICES_MAX];

	memcpy(sorted, services, count * sizeof(sorted[0]));
#define IS_SLOWER(a, b) ((a)->max > (b)->max)
	sort_items(sorted, count, IS_SLOWER);
#undef IS_SLOWER
	for (size_t i = 0; i < count && i < LINES_MAX && sorted[i].count; i++)
		print_service(file, &sorted[i]);
}

static void put_json(struct json *j, const struct service_latency *s)
{
	json_object(j);
	json_key(j, "service");
	json_string(j, s->service);
	json_key(j, "wakeups");
	json_u64(j, s->count);
	json_key(j, "wakeup_latency_mean_seconds");
	json_real(j, s->mean / 1e9);
	json_key(j, "wakeup_latency_max_seconds");
	json_real(j, s->max / 1e9);
	if (s->cpu_thread[0]) {
		json_key(j, "cpu_thread");
		json_string(j, s->cpu_thread);
		json_key(j, "cpu_pid");
		json_u64(j, s->cpu_pid);
	}
	if (s->cpu_policy) {
		json_key(j, "cpu_priority");
		json_string(j, priority_of(s).s);
	}
	json_end(j);
}

void services_json(struct json *j, const struct service_latency *services, size_t count)
{
	json_key(j, "services");
	json_array(j);
	for (size_t i = 0; i < count; i++)
		put_json(j, &services[i]);
	json_end(j);
}

/* A label value, as the text format of Prometheus escapes it. */
static void print_label(FILE *file, const char *name, const char *value)
{
	fprintf(file, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			fputc('\\', file);
		if (*value == '\n')
			fputs("\\n", file);
		else
			fputc(*value, file);
	}
	fputc('"', file);
}

enum wakeup_metric { METRIC_COUNT, METRIC_MEAN, METRIC_MAX, METRIC_CPU };

static void print_metric(FILE *file, const char *name, enum wakeup_metric which,
			 const struct service_latency *s)
{
	if (which == METRIC_CPU && !s->cpu_thread[0])
		return;
	fprintf(file, "sonde_annotate_%s{", name);
	print_label(file, "service", s->service);
	if (which == METRIC_CPU) {
		fputc(',', file);
		print_label(file, "thread", s->cpu_thread);
		fputc(',', file);
		print_label(file, "priority", priority_of(s).s);
	}
	if (which == METRIC_COUNT || which == METRIC_CPU)
		fprintf(file, "} %ju\n", which == METRIC_CPU ? (uintmax_t)1 : (uintmax_t)s->count);
	else
		fprintf(file, "} %.9g\n", (which == METRIC_MEAN ? s->mean : s->max) / 1e9);
}

void services_metrics(FILE *file, const struct service_latency *services, size_t count)
{
	static const struct {
		const char *name, *help;
	} metrics[] = {
		[METRIC_COUNT] = { "wakeups", "Wake-ups of a service in the last 10 seconds." },
		[METRIC_MEAN] = { "wakeup_latency_mean_seconds",
				  "Mean time from wake-up to running in the last 10 seconds." },
		[METRIC_MAX] = { "wakeup_latency_max_seconds",
				 "Longest time from wake-up to running in the last 10 seconds." },
		[METRIC_CPU] = { "wakeup_latency_max_cpu_info",
				 "What had the CPU during the longest one, and its priority." },
	};

	for (size_t k = 0; k < ARRAY_LEN(metrics); k++) {
		fprintf(file, "# HELP sonde_annotate_%s %s\n# TYPE sonde_annotate_%s gauge\n",
			metrics[k].name, metrics[k].help, metrics[k].name);
		for (size_t i = 0; i < count; i++)
			print_metric(file, metrics[k].name, k, &services[i]);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * annotate - explain slow spans on their way to the collector.
 *
 *	relay (this process)   the network; no privileges
 *	worker                 records and analysis; neither privileges nor network
 *	keeper and recorder    privileges; neither network nor foreign data
 *
 * The order of the start matters: listeners, certificates and the keeper need privileges.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "annotate/worker.h"
#include "base/clock.h"
#include "bpf/wire.h"
#include "cli/annotate_control.h"
#include "cli/annotate_scope.h"
#include "cli/annotate_status.h"
#include "cli/annotate_worker.h"
#include "cli/listen.h"
#include "cli/log.h"
#include "cli/opt.h"
#include "cli/usual.h"
#include "cli/warn.h"
#include "record/keeper.h"
#include "record/privilege.h"
#include "relay/relay.h"

struct annotate_opts {
	struct opt_list pids, ports, set;
	const char *cgroup;
	bool all_processes;
	const char *threshold, *config, *grpc, *http, *to, *baseline;
	bool all, requests, status, json;
	const char *syscalls; /* NULL: not given */
	bool syscalls_when_slow;
	const char *budget;
	nsec_t look_back, stacks;
	uint64_t memory, queue;
};

enum { PROFILE_HZ = 97 };     /* --stacks: on each CPU; a prime, so that timers do not keep step */
enum { DESCRIPTORS = 20500 }; /* 10,000 connections of each protocol, and a few more */

#define FIELD(name) offsetof(struct annotate_opts, name)

static const struct opt annotate_opts[] = {
	{ OPT_LIST, 0, "port", "N", "only processes that listen on TCP port N", FIELD(ports) },
	{ OPT_LIST, 'p', "pid", "PID", "only a process and its descendants", FIELD(pids) },
	{ OPT_STRING, 0, "cgroup", "PATH", "only a control group and its descendants",
	  FIELD(cgroup) },
	{ OPT_FLAG, 'a', "all-processes", NULL,
	  "all processes; default: those that 'sonde run' started", FIELD(all_processes) },
	{ OPT_STRING, 0, "threshold", "TIME|pNN",
	  "explain spans that take longer, or longer than a percentile of their operation "
	  "(default p95)",
	  FIELD(threshold) },
	{ OPT_FLAG, 0, "all", NULL, "explain all spans", FIELD(all) },
	{ OPT_STRING, 'b', "baseline", "BASELINE",
	  "explain spans that differ from what sonde learn wrote to this file, slow or not",
	  FIELD(baseline) },
	{ OPT_FLAG, 0, "requests", NULL, "add spans for requests of services without an SDK",
	  FIELD(requests) },
	{ OPT_STRING, 0, "config", "FILE", "read thresholds of services and operations",
	  FIELD(config) },
	{ OPT_STRING, 0, "grpc", "ADDRESS", "listen for OTLP/gRPC (default loopback, 4317)",
	  FIELD(grpc) },
	{ OPT_STRING, 0, "http", "ADDRESS", "listen for OTLP/HTTP (default loopback, 4318)",
	  FIELD(http) },
	{ OPT_STRING, 0, "to", "URL",
	  "forward to this collector instead of OTEL_EXPORTER_OTLP_ENDPOINT", FIELD(to) },
	{ OPT_TIME, 0, "stacks", "TIME", "add the stacks of waits of at least TIME",
	  FIELD(stacks) },
	{ OPT_OPTIONAL, 0, "syscalls", "LIST", "add a child span for each system call, or for some",
	  FIELD(syscalls) },
	{ OPT_FLAG, 0, "syscalls-when-slow", NULL, "only of processes whose spans are slow now",
	  FIELD(syscalls_when_slow) },
	{ OPT_STRING, 0, "budget", "PCT", "shed detail above this share of a CPU (default 50%)",
	  FIELD(budget) },
	{ OPT_TIME, 0, "look-back", "TIME", "keep records of the last TIME (default 30s)",
	  FIELD(look_back) },
	{ OPT_SIZE, 0, "memory", "SIZE", "shorten that time above SIZE (default 512M)",
	  FIELD(memory) },
	{ OPT_SIZE, 0, "queue", "SIZE", "hold SIZE while the collector is away (default 64M)",
	  FIELD(queue) },
	{ OPT_FLAG, 0, "status", NULL, "print what a running 'sonde annotate' has done",
	  FIELD(status) },
	{ OPT_FLAG, 0, "json", NULL, "print that as JSON", FIELD(json) },
	{ OPT_LIST, 0, "set", "KEY=VALUE", "change threshold, config or budget of a running one",
	  FIELD(set) },
	{ 0 },
};

static const struct annotate_opts annotate_defaults = {
	.threshold = "p95",
	.grpc = "4317",
	.http = "4318",
	.budget = "50%",
	.look_back = 30 * NSEC_PER_SEC,
	.memory = 512ull << 20,
	.queue = 64ull << 20,
};

static volatile sig_atomic_t stop, reload;

static void on_signal(int number)
{
	if (number == SIGHUP)
		reload = 1;
	else
		stop = 1;
}

struct annotating {
	const struct annotate_opts *opts;
	struct listen_sockets grpc, http;
	struct endpoints endpoints;
	struct slow *slow;
	struct relay *relay;
	struct worker_process worker;
	struct annotate_control control;
	double budget;                                 /* share of one CPU; 0: no limit */
	struct annotate_status status;                 /* newest of the worker */
	struct service_latency services[SERVICES_MAX]; /* newest as well */
	size_t service_count;
	struct annotate_scope scope;
	char *page; /* last one that was served */
};

static struct annotate_scope scope_of(const struct annotate_opts *o)
{
	bool is_named = o->pids.count || o->ports.count || o->cgroup;

	return (struct annotate_scope){ .all = o->all_processes,
					.agents = !o->all_processes && !is_named };
}

static int start_keeper(const struct annotate_opts *o, const struct annotate_scope *scope,
			struct keeper **ret, struct err *err)
{
	_cleanup_(freep) uint64_t *pids = NULL, *ports = NULL;
	int r = opt_numbers(&o->pids, "pid", 1, UINT32_MAX, &pids, err);

	if (r == 0)
		r = opt_numbers(&o->ports, "port", 1, UINT16_MAX, &ports, err);
	if (r < 0)
		return r;
	if (o->ports.count > WIRE_PORTS)
		return err_usage(err, "--port: at most %d ports", WIRE_PORTS);

	struct record_options options = {
		.pids = pids,
		.pid_count = o->pids.count,
		.ports = ports,
		.port_count = o->ports.count,
		.cgroup = o->cgroup,
		.all = scope->all,
		.agents = scope->agents,
		.other_tasks = true,
		.spans = true,
		.arguments = true,
		.stacks = o->stacks,
		.profile_hz = o->stacks ? PROFILE_HZ : 0,
		.profile_optional = true,
		.epoch = 10 * NSEC_PER_SEC,
		.sort_window = RELAY_HOLD / 4,
		.on_demand = true,
		.syscalls = o->syscalls,
		.command_line = "sonde annotate",
		.tool = "sonde " SONDE_VERSION,
	};

	return keeper_start(&options, ret, err);
}

static size_t add_addresses(const struct listen_sockets *sockets, struct listen_address *to,
			    size_t count)
{
	for (size_t i = 0; i < sockets->count; i++)
		to[count++] = (struct listen_address){ sockets->hosts[i], sockets->ports[i] };
	return count;
}

static int open_network(struct annotating *a, struct err *err)
{
	const struct annotate_opts *o = a->opts;
	_cleanup_(warnings_done) struct warnings warnings = { 0 };
	int r = listen_sockets_open(o->grpc, "--grpc", &a->grpc, err);

	if (r == 0)
		r = listen_sockets_open(o->http, "--http", &a->http, err);
	if (r < 0)
		return r;

	struct listen_address listens[2 * LISTEN_MAX];
	size_t count = add_addresses(&a->http, listens, add_addresses(&a->grpc, listens, 0));
	struct endpoint_options options = { .url = o->to,
					    .listens = listens,
					    .listen_count = count };

	r = endpoints_read(&options, &a->endpoints, &warnings, err);
	warn_all(&warnings);
	return r;
}

static int set_thresholds(struct annotating *a, struct err *err)
{
	const struct annotate_opts *o = a->opts;
	int r = slow_new(o->all ? "all" : o->threshold, &a->slow, err);

	if (r == 0)
		r = budget_parse(o->budget, &a->budget, err);
	return r == 0 && o->config ? slow_load(a->slow, o->config, err) : r;
}

/* The governor of the worker needs them; -ENOBUFS is no loss, as the next status comes soon. */
static void send_budget(struct annotating *a)
{
	struct annotate_budget budget = { .budget = a->budget,
					  .relay = { clock_now(), clock_cpu_time() },
					  .stacks = a->opts->stacks,
					  .other_tasks = !a->scope.all };

	if (a->worker.channel)
		channel_send(a->worker.channel, &(struct channel_message){ .kind = CHANNEL_BUDGET },
			     (struct view){ (char *)&budget, sizeof(budget) });
}

static void on_status(void *arg, struct view body)
{
	struct annotating *a = arg;
	uint32_t level = a->status.detail_level;

	char warning[sizeof(a->status.warning)];

	if (body.len != sizeof(a->status))
		return;
	memcpy(warning, a->status.warning, sizeof(warning));
	memcpy(&a->status, body.s, sizeof(a->status));
	if (a->status.warning[0] && strcmp(warning, a->status.warning) != 0)
		log_message("%s", a->status.warning);
	annotate_scope_log(&a->scope, &a->status);
	if (a->status.detail_level != level)
		log_message("detail %s", status_detail(&a->status, a->budget).s);
	send_budget(a);
}

static void on_wakeups(void *arg, struct view body)
{
	struct annotating *a = arg;

	if (body.len > sizeof(a->services) || body.len % sizeof(a->services[0]))
		return;
	memcpy(a->services, body.s, body.len);
	a->service_count = body.len / sizeof(a->services[0]);
}

static struct status_source source_of(const struct annotating *a)
{
	return (struct status_source){ .relay = a->relay,
				       .worker = &a->status,
				       .worker_restarts = a->worker.restarts,
				       .worker_runs = a->worker.pid,
				       .budget = a->budget,
				       .services = a->services,
				       .service_count = a->worker.pid ? a->service_count : 0,
				       .collector = a->endpoints.signals[OTLP_TRACES].name,
				       .scope = &a->scope };
}

static const char *on_page(void *arg, const char *path, const char **ret_type)
{
	struct annotating *a = arg;
	struct status_source source = source_of(a);

	free(a->page);
	a->page = NULL;
	*ret_type = "text/plain; charset=utf-8";
	if (strcmp(path, "/") == 0) {
		a->page = status_text(&source);
	} else if (strcmp(path, ANNOTATE_CONTROL_PAGE) == 0) {
		a->page = must_strdup(a->control.name);
	} else if (strcmp(path, "/status") == 0) {
		*ret_type = "application/json";
		a->page = status_json(&source);
	} else if (strcmp(path, "/metrics") == 0) {
		*ret_type = "text/plain; version=0.0.4; charset=utf-8";
		a->page = status_metrics(&source);
	}
	return a->page;
}

/* An apply_settings_fn. */
static int change_settings(void *arg, const struct settings *settings, struct err *err)
{
	struct annotating *a = arg;
	int r = slow_change(a->slow, &settings->slow, err);

	if (r == 0 && settings->has_budget)
		a->budget = settings->budget;
	return r;
}

static void on_control(void *arg)
{
	struct annotating *a = arg;

	annotate_control_run(&a->control, change_settings, a);
}

static int start_relay(struct annotating *a, struct err *err)
{
	struct relay_options options = { .grpc = a->grpc.fds,
					 .grpc_count = a->grpc.count,
					 .http = a->http.fds,
					 .http_count = a->http.count,
					 .endpoints = &a->endpoints,
					 .slow = a->slow,
					 .queue_limit = a->opts->queue,
					 .page = on_page,
					 .status = on_status,
					 .wakeups = on_wakeups,
					 .extra_fd = control_server_fd(a->control.server),
					 .extra = on_control,
					 .arg = a };

	return relay_new(&options, &a->relay, err);
}

static void reload_thresholds(struct annotating *a)
{
	struct err err = { "" };

	reload = 0;
	if (a->opts->config && slow_load(a->slow, a->opts->config, &err) < 0)
		log_message("%s; the thresholds stay as they were", err.text);
}

/* One round; 0, or a negative errno if the worker failed at its first start. */
static int run_once(struct annotating *a, struct err *err)
{
	if (reload)
		reload_thresholds(a);
	if (relay_poll(a->relay, a->worker.pid ? -1 : 250) == -EPIPE) {
		int status = worker_process_reap(&a->worker);

		if (!a->worker.restarts && WIFEXITED(status) && WEXITSTATUS(status))
			return err_set(err, -EIO, "cannot annotate spans");
		log_message("the annotating process has ended; spans pass without annotations "
			    "until it runs again");
	}
	if (worker_process_restart(&a->worker))
		relay_set_channel(a->relay, a->worker.channel);
	return 0;
}

static int run(struct annotating *a, struct err *err)
{
	struct err warning = { "" };
	int r = worker_process_start(&a->worker, err);

	if (r < 0)
		return r;
	r = privilege_drop_relay(&warning);
	if (r < 0) {
		*err = warning;
		return r;
	}
	r = start_relay(a, err);
	if (r < 0)
		return r;
	relay_set_channel(a->relay, a->worker.channel);
	log_message("listening for OTLP on port %u (gRPC) and %u (HTTP), forwarding to %s",
		    a->grpc.ports[0], a->http.ports[0], a->endpoints.signals[OTLP_TRACES].name);
	while (r == 0 && !stop)
		r = run_once(a, err);
	relay_finish(a->relay, 5 * NSEC_PER_SEC);
	return r;
}

/* Best effort: with fewer descriptors, fewer connections are served. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= DESCRIPTORS)
		return;
	limit.rlim_cur = DESCRIPTORS;
	if (limit.rlim_max < DESCRIPTORS)
		limit.rlim_max = DESCRIPTORS;
	if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
		return;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void show_summary(const struct annotating *a)
{
	struct status_source source = source_of(a);
	_cleanup_(freep) char *text = status_text(&source);

	fputs(text ?: "", stderr);
}

static void set_worker(struct annotating *a, struct keeper *keeper, const struct usual *usual)
{
	const struct annotate_opts *o = a->opts;

	a->worker.keeper = keeper;
	a->worker.options = (struct live_options){ .window = o->look_back,
						   .memory = o->memory,
						   .all_requests = o->requests };
	a->worker.worker = (struct annotate_worker_options){
		.syscalls = o->syscalls_when_slow ? SWITCH_WHEN_SLOW
			    : o->syscalls         ? SWITCH_ALWAYS
						  : SWITCH_NEVER,
		.requests = o->requests,
		.baseline = usual->baseline,
		.profiles = &usual->profiles,
	};
}

static int annotate_run(const void *opts, char **operands, struct err *err)
{
	struct annotating a = { .opts = opts, .scope = scope_of(opts) };
	_cleanup_(usual_done) struct usual usual = { 0 };
	struct keeper *keeper = NULL;
	int r;

	(void)operands;
	if (a.opts->status)
		return status_show(a.opts->http, a.opts->json, err);
	if (a.opts->set.count)
		return annotate_control_send(a.opts->http, &a.opts->set, err);
	if (a.opts->baseline && (r = usual_load(a.opts->baseline, &usual, err)) < 0)
		return r;
	r = open_network(&a, err);
	catch_signals();
	raise_descriptors();
	if (r == 0)
		r = set_thresholds(&a, err);
	if (r == 0)
		r = start_keeper(a.opts, &a.scope, &keeper, err);
	if (r == 0)
		r = annotate_control_open(&a.control, err);
	set_worker(&a, keeper, &usual);
	if (r == 0)
		worker_process_skip(&a.worker, &a.endpoints);
	if (r == 0)
		r = run(&a, err);
	if (a.relay)
		show_summary(&a);
	worker_process_end(&a.worker);
	relay_free(a.relay);
	slow_free(a.slow);
	endpoints_done(&a.endpoints);
	keeper_free(keeper);
	annotate_control_done(&a.control);
	free(a.page);
	listen_sockets_close(&a.grpc);
	listen_sockets_close(&a.http);
	return r;
}

const struct command cmd_annotate = {
	.name = "annotate",
	.summary = "explain slow spans on their way to the collector",
	.synopsis = "[OPTION]...",
	.examples = "  OTEL_EXPORTER_OTLP_ENDPOINT=http://jaeger:4318 sonde annotate\n"
		    "  sonde annotate --threshold=5ms --to=http://localhost:14318\n",
	.opts = annotate_opts,
	.defaults = &annotate_defaults,
	.opts_size = sizeof(annotate_defaults),
	.caps = PRIVILEGE_CAPS,
	.run = annotate_run,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top_source.h"

#include "bpf/wire.h"
#include "cli/log.h"
#include "record/keeper.h"
#include "record/privilege.h"

/* What is recorded is resolved again after each epoch, so an epoch is a part of the window. */
static nsec_t epoch_of(nsec_t window)
{
	nsec_t third = (window ? window : LIVE_WINDOW) / 3;

	return third > 2 * NSEC_PER_SEC ? third : 2 * NSEC_PER_SEC;
}

static int start_keeper(const struct top_scope *scope, nsec_t window, struct keeper **ret,
			struct err *err)
{
	_cleanup_(freep) uint64_t *pids = NULL, *ports = NULL;
	int r = opt_numbers(&scope->pids, "pid", 1, UINT32_MAX, &pids, err);

	if (r == 0)
		r = opt_numbers(&scope->ports, "port", 1, UINT16_MAX, &ports, err);
	if (r < 0)
		return r;
	if (scope->ports.count > WIRE_PORTS)
		return err_usage(err, "--port: at most %d ports", WIRE_PORTS);

	struct record_options options = {
		.pids = pids,
		.pid_count = scope->pids.count,
		.ports = ports,
		.port_count = scope->ports.count,
		.cgroup = scope->cgroup,
		.all = scope->all || (!scope->pids.count && !scope->ports.count && !scope->cgroup),
		.other_tasks = true,
		.spans = true,
		.arguments = true, /* services are named after them */
		.epoch = epoch_of(window),
		.command_line = "sonde top",
		.tool = "sonde " SONDE_VERSION,
	};

	return keeper_start(&options, ret, err);
}

int top_source_record(const struct top_scope *scope, const struct live_options *options,
		      struct keeper **ret_keeper, struct live **ret, struct err *err)
{
	struct keeper *keeper;
	struct err warning = { "" };
	int r = start_keeper(scope, options->window, &keeper, err);

	if (r < 0)
		return r;
	r = privilege_drop_reader(0, 0, &warning);
	if (r > 0)
		log_message("%s", warning.text);
	else if (r < 0)
		*err = warning;
	if (r >= 0)
		r = live_open_keeper(keeper, options, ret, err);
	if (r < 0)
		keeper_free(keeper);
	else
		*ret_keeper = keeper;
	return r;
}

void top_keeper_free(struct keeper **keeper)
{
	keeper_free(*keeper);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/diagnose.h"

#define FIELD(name) offsetof(struct diagnose_opts, name)

static const struct opt diagnose_opts[] = {
	{ OPT_STRING, 'b', "baseline", "BASELINE",
	  "compare with what sonde learn wrote to this file", FIELD(baseline) },
	{ OPT_STRING, 0, "check", "REPORT",
	  "check that this report of --json follows from the inputs and the baseline",
	  FIELD(check) },
	{ OPT_STRING, 0, "slow", "TIME|pN",
	  "requests that took at least this long, or percentile N of their operation, are slow "
	  "(default p95)",
	  FIELD(slow) },
	{ OPT_COUNT, 'n', "top", "N",
	  "show at most N operations (default 3), or with -b, N findings (default 10)",
	  FIELD(top) },
	OPT_SELECTION_OF_ALL(
		struct diagnose_opts, select,
		"only requests that arrive TIME after the start of the capture, or later",
		"only requests that arrive before TIME"),
	{ OPT_FLAG, 0, "requests", NULL, "diagnose rebuilt requests even if the inputs have spans",
	  FIELD(requests) },
	{ OPT_FLAG, 0, "json", NULL, "write JSON instead of text", FIELD(json) },
	OPT_FORMAT(struct diagnose_opts, format),
	{ 0 },
};

static const struct diagnose_opts diagnose_defaults = { 0 };

enum { OPERATIONS_SHOWN = 3, FINDINGS_SHOWN = 10 };

static int check_options(const struct diagnose_opts *o, struct err *err)
{
	struct selection selection;

	if (o->check && !o->baseline)
		return err_usage(err, "--check requires a baseline: -b BASELINE");
	if (!o->baseline)
		return 0;
	if (opt_selection(&o->select, &selection, err) < 0)
		return -EUSAGE;
	if (o->slow || selection_is_restricted(&selection))
		return err_usage(err, "-b compares all requests: --slow and options that select "
				      "requests cannot be used with it");
	return 0;
}

static int diagnose_run(const void *opts, char **operands, struct err *err)
{
	struct diagnose_opts o = *(const struct diagnose_opts *)opts;
	int r = check_options(&o, err);

	if (r < 0)
		return r;
	if (!o.top)
		o.top = o.baseline ? FINDINGS_SHOWN : OPERATIONS_SHOWN;
	return o.baseline ? diagnose_baseline(&o, operands, err)
			  : diagnose_contrast(&o, operands, err);
}

const struct command cmd_diagnose = {
	.name = "diagnose",
	.summary = "find out why some requests are slower than usual",
	.synopsis = "[OPTION]... INPUT...",
	.examples = "  sonde diagnose capture.sonde\n"
		    "  sonde diagnose -b usual.baseline capture.sonde\n"
		    "  sonde diagnose --slow=100ms --service=shop capture.sonde spans.json\n",
	.opts = diagnose_opts,
	.defaults = &diagnose_defaults,
	.opts_size = sizeof(diagnose_defaults),
	.min_operands = 1,
	.max_operands = SIZE_MAX,
	.run = diagnose_run,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/log.h"
#include "cli/opt.h"
#include "cli/recordings.h"
#include "cli/warn.h"
#include "diagnose/profile.h"
#include "load/load.h"
#include "store/baseline_file.h"

struct learn_opts {
	const char *output, *into;
	const char *support, *gap, *closed, *sigma, *cv;
	bool requests, quiet;
	const char *format;
};

#define FIELD(name) offsetof(struct learn_opts, name)

static const struct opt learn_opts[] = {
	{ OPT_STRING, 'o', "output", "BASELINE", "write the baseline to this file", FIELD(output) },
	{ OPT_STRING, 0, "into", "BASELINE", "add the recordings to this baseline", FIELD(into) },
	{ OPT_STRING, 0, "support", "SHARE",
	  "share of the sequences that contain a pattern (default 95%)", FIELD(support) },
	{ OPT_STRING, 0, "gap", "LEAST,MOST",
	  "states that a pattern may skip between two of its states (default 0,2)", FIELD(gap) },
	{ OPT_STRING, 0, "closed", "all|ends",
	  "leave out patterns that a longer one contains, with states added anywhere or only at "
	  "its ends (default all)",
	  FIELD(closed) },
	{ OPT_STRING, 0, "sigma", "N", "half width of a band in standard deviations (default 3)",
	  FIELD(sigma) },
	{ OPT_STRING, 0, "cv", "SHARE",
	  "coefficient of variation above which a band is taken from quantiles (default 50%)",
	  FIELD(cv) },
	{ OPT_FLAG, 0, "requests", NULL, "learn rebuilt requests even if the inputs have spans",
	  FIELD(requests) },
	{ OPT_FLAG, 'q', "quiet", NULL, "print nothing", FIELD(quiet) },
	OPT_FORMAT(struct learn_opts, format),
	{ 0 },
};

static const struct learn_opts defaults = { 0 };

/* "95%" or "0.95" */
static int parse_share(const char *option, const char *s, double most, double *ret, struct err *err)
{
	char *end;
	double n;

	if (!s)
		return 0;
	n = strtod(s, &end);
	if (end != s && strcmp(end, "%") == 0) {
		n /= 100;
		end++;
	}
	if (end == s || *end || !(n > 0) || n > most)
		return err_usage(err, "--%s requires a share such as 95%%, not '%s'", option, s);
	*ret = n;
	return 0;
}

static int parse_gap(const char *s, struct learn_options *ret, struct err *err)
{
	enum { GAP_MAX = 62 };
	unsigned long least, most;
	char *end;

	if (!s)
		return 0;
	least = strtoul(s, &end, 10);
	if (end == s || *end != ',')
		return err_usage(err, "--gap requires two numbers such as 0,2, not '%s'", s);
	s = end + 1;
	most = strtoul(s, &end, 10);
	if (end == s || *end || least > most || most > GAP_MAX)
		return err_usage(err, "--gap requires two numbers such as 0,2; the first is not "
				      "larger, the second at most 62");
	ret->gap_least = least;
	ret->gap_most = most;
	return 0;
}

static int parse_sigma(const char *s, double *ret, struct err *err)
{
	char *end;
	double n;

	if (!s)
		return 0;
	n = strtod(s, &end);
	if (end == s || *end || !(n >= 1) || n > 10)
		return err_usage(err, "--sigma requires a number from 1 to 10, not '%s'", s);
	*ret = n;
	return 0;
}

static int parse_options(const struct learn_opts *o, struct learn_options *ret, struct err *err)
{
	int r;

	if (o->closed && strcmp(o->closed, "all") != 0 && strcmp(o->closed, "ends") != 0)
		return err_usage(err, "--closed is 'all' or 'ends', not '%s'", o->closed);
	if (o->closed)
		ret->closed_at_ends = strcmp(o->closed, "ends") == 0;
	r = parse_share("support", o->support, 1, &ret->support, err);
	if (r == 0)
		r = parse_share("cv", o->cv, 100, &ret->cv, err);
	if (r == 0)
		r = parse_gap(o->gap, ret, err);
	return r == 0 ? parse_sigma(o->sigma, &ret->sigma, err) : r;
}

/* A new baseline, or the one to add to. */
static int open_baseline(const struct learn_opts *o, struct baseline **ret, struct err *err)
{
	struct learn_options options = learn_defaults;
	bool given = o->support || o->gap || o->closed || o->sigma || o->cv;
	int r;

	if (!o->output == !o->into)
		return err_usage(err, "give either -o BASELINE or --into BASELINE");
	if (o->into && given)
		return err_usage(err,
				 "--into uses the options with which the baseline was learned");
	r = parse_options(o, &options, err);
	if (r < 0)
		return r;
	if (o->into)
		return baseline_load(o->into, ret, err);
	r = file_check_output(o->output, err);
	if (r == 0)
		*ret = baseline_new(&options);
	return r;
}

static void report(const struct learn_opts *o, char **inputs, enum recording_result learned,
		   const struct recording *r)
{
	if (learned == RECORDING_EMPTY)
		log_message("'%s' has no complete requests: %s are cut by its start or end, and %s "
			    "lack "
			    "a parent",
			    inputs[0], format_count(r->cut).s, format_count(r->orphaned).s);
	else if (learned == RECORDING_KNOWN && !o->quiet)
		log_message("'%s' is in the baseline already", inputs[0]);
	else if (!o->quiet)
		log_message("%s: learned %s traces with %s spans; left out %s cut and %s "
			    "incomplete traces, "
			    "and %s spans with lost records",
			    inputs[0], format_count(r->traces).s, format_count(r->spans).s,
			    format_count(r->cut).s, format_count(r->orphaned).s,
			    format_count(r->lost).s);
}

static int learn_recording(const struct learn_opts *o, char **inputs, struct baseline *b,
			   struct err *err)
{
	_cleanup_(loaded_done) struct loaded loaded = { 0 };
	struct observation_counts counts = { 0 };
	enum recording_result learned;
	int r = loaded_open(&loaded, inputs, o->format, err);

	if (loaded.model)
		loaded_rebuild_requests(&loaded, o->requests);
	warn_all(&loaded.warnings);
	if (r < 0)
		return r;
	baseline_begin(b, &loaded.spans);
	observations_find(&loaded.spans, baseline_add_observation, b, &counts);
	learned = baseline_end(b, &counts);
	report(o, inputs, learned, &b->now);
	return 0;
}

static int save(const struct learn_opts *o, struct baseline *b, struct err *err)
{
	struct profiles profiles = { 0 };
	int r;

	baseline_finish(b);
	if (!b->samples.count)
		return err_set(err, -ENODATA, "the inputs have no complete requests to learn from");
	profiles_build(b, sysconf(_SC_NPROCESSORS_ONLN), &profiles);
	r = baseline_save(b, &profiles, o->output ?: o->into, err);
	profiles_done(&profiles);
	return r;
}

static int learn_run(const void *opts, char **operands, struct err *err)
{
	const struct learn_opts *o = opts;
	_cleanup_(baseline_freep) struct baseline *b = NULL;
	_cleanup_(recordings_done) struct recordings recordings = { 0 };
	int r = open_baseline(o, &b, err);

	if (r == 0)
		r = recordings_find(operands, o->format, &recordings, err);
	for (size_t i = 0; i < recordings.begins.count && r == 0; i++)
		r = learn_recording(o, &recordings.inputs.items[recordings.begins.items[i]], b,
				    err);
	return r == 0 ? save(o, b, err) : r;
}

const struct command cmd_learn = {
	.name = "learn",
	.summary = "learn what is usual, for sonde diagnose -b",
	.synopsis = "[OPTION]... -o BASELINE INPUT...",
	.examples = "  sonde learn -o usual.baseline monday.sonde tuesday.sonde\n"
		    "  sonde learn --into usual.baseline wednesday.sonde\n",
	.opts = learn_opts,
	.defaults = &defaults,
	.opts_size = sizeof(defaults),
	.min_operands = 1,
	.max_operands = SIZE_MAX,
	.run = learn_run,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export - what was recorded, for other tools.
 *
 * A target is a function that takes the records of all inputs as one stream.  A
 * new format is one more row in the table.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/export.h"
#include "cli/opt.h"
#include "report/dump.h"

struct export_opts {
	const char *to, *output, *format;
};

static const struct opt export_opts[] = {
	{ OPT_STRING, 0, "to", "TARGET", "what to write: ctf, json",
	  offsetof(struct export_opts, to) },
	{ OPT_STRING, 'o', "output", "PATH",
	  "write to PATH: a new directory for ctf, a file for json",
	  offsetof(struct export_opts, output) },
	OPT_FORMAT(struct export_opts, format),
	{ 0 },
};

static const struct export_opts export_defaults = { 0 };

static const char *host_name(const void *arg, uint16_t host)
{
	return exported_host(arg, host);
}

/* Where there is but one machine, or none, it need not be said with each record. */
static int write_json(struct exported *in, struct exported *again, FILE *file, struct err *err)
{
	struct record_stream records = exported_records(in), ahead = exported_records(again);
	struct dump_filter filter = { .to = UINT64_MAX };
	struct dump_style style = { .json = true };

	if (exported_host_count(in) > 1) {
		style.host = host_name;
		style.arg = in;
	}
	return dump_write(&records, &ahead, &filter, &style, file, err);
}

/* Whether a path is, or can be, a file that is replaced: no pipe and no device. */
static bool is_replaceable(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 || S_ISREG(st.st_mode);
}

/* Written under another name and then renamed, so that what is there is whole. */
static int replace_file(struct exported *in, struct exported *again, const char *path,
			struct err *err)
{
	_cleanup_(freep) char *temporary = must_printf("%s.partial-XXXXXX", path);
	int fd = mkostemp(temporary, O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file)
		return err_errno(err, "cannot create a file beside '%s'", path);

	int r = write_json(in, again, file, err);

	if (fclose(file) != 0 && r >= 0)
		r = err_errno(err, "cannot write '%s'", temporary);
	/* what stands before damage in an input is whole */
	if ((r == 0 || r == -EBADMSG) &&
	    (chmod(temporary, 0644) < 0 || rename(temporary, path) < 0))
		r = err_errno(err, "cannot create '%s'", path);
	else if (r < 0 && r != -EBADMSG)
		unlink(temporary);
	return r;
}

static int to_json(struct exported *in, const char *output, struct err *err)
{
	_cleanup_(exported_done) struct exported again = { .paths = in->paths,
							   .format = in->format };

	if (!output)
		return write_json(in, &again, stdout, err);
	if (is_replaceable(output))
		return replace_file(in, &again, output, err);

	FILE *file = fopen(output, "we");

	if (!file)
		return err_errno(err, "cannot open '%s'", output);

	int r = write_json(in, &again, file, err);

	return fclose(file) != 0 && r == 0 ? err_errno(err, "cannot write '%s'", output) : r;
}

static int to_ctf(struct exported *in, const char *output, struct err *err)
{
	if (!output)
		return err_usage(err, "--to=ctf writes a directory: say which with --output");
	return export_ctf(in, output, err);
}

static const struct target {
	const char *name;
	int (*run)(struct exported *in, const char *output, struct err *err);
} targets[] = {
	{ "ctf", to_ctf },
	{ "json", to_json },
};

static const struct target *find_target(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(targets); i++)
		if (strcmp(targets[i].name, name) == 0)
			return &targets[i];
	return NULL;
}

static int export_run(const void *opts, char **operands, struct err *err)
{
	const struct export_opts *o = opts;
	const struct target *target = o->to ? find_target(o->to) : NULL;
	_cleanup_(exported_done) struct exported in = { .paths = operands, .format = o->format };

	if (!o->to)
		return err_usage(err, "say what to write: --to=ctf or --to=json");
	if (!target)
		return err_usage(err, "--to: no target '%s'; there are ctf and json", o->to);

	int r = exported_open(&in, err);

	if (r < 0)
		return r;
	signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is then an error like a full disk */
	r = target->run(&in, o->output, err);
	exported_tell(&in);
	return r;
}

const struct command cmd_export = {
	.name = "export",
	.summary = "write what was recorded in a form that other tools read",
	.synopsis = "--to=TARGET [OPTION]... INPUT...",
	.examples = "  sonde export --to=ctf -o trace capture.sonde && babeltrace2 trace\n"
		    "  sonde export --to=json front.sonde back.sonde | jq -c .host\n",
	.opts = export_opts,
	.defaults = &export_defaults,
	.opts_size = sizeof(export_defaults),
	.min_operands = 1,
	.max_operands = SIZE_MAX,
	.run = export_run,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of an exported CTF trace.  It is written under a temporary name
 * next to its target and renamed when it is complete; on failure it is removed.
 */
#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/caps.h"
#include "base/vec.h"
#include "cli/export.h"
#include "cli/log.h"
#include "report/export/ctf.h"

typedef VEC(struct ctf_export *) exports;

static void exports_done(exports *all)
{
	for (size_t i = 0; i < all->count; i++)
		ctf_export_free(all->items[i]);
	vec_done(all);
}

static int collect(struct export_input *e, exports *all, struct err *err)
{
	struct record_stream records = export_input_records(e);
	const struct record *record;
	const struct source *source;
	int r;

	while ((r = stream_next(&records, &record, &source, err)) > 0) {
		while (all->count <= source->host)
			*vec_push(all) = ctf_export_new();
		ctf_export_add(all->items[source->host], source, record);
	}
	return r;
}

static void warn_left_out(const exports *all)
{
	uint64_t count = 0;

	for (size_t i = 0; i < all->count; i++)
		count += ctf_export_omitted(all->items[i]);
	if (count)
		log_message("left out %" PRIu64
			    " records that CTF has no events for: probe events, samples, "
			    "stacks, contexts and attributes",
			    count);
}

/* The directory of a host: its name if that is unique and a valid file name, otherwise with its
 * number. */
static char *host_directory(const struct export_input *e, size_t host)
{
	const char *name = export_input_host(e, host);

	if (!*name || *name == '.' || strchr(name, '/'))
		return must_printf("host%zu", host);
	for (size_t i = 0; i < export_input_host_count(e); i++)
		if (i != host && strcmp(export_input_host(e, i), name) == 0)
			return must_printf("%s-%zu", name, host);
	return must_strdup(name);
}

static int write_host(const struct export_input *e, const exports *all, size_t host,
		      const char *top, struct err *err)
{
	const struct input_meta *meta = e->merge ? NULL : input_meta(e->one.input);
	_cleanup_(freep) char *name = host_directory(e, host);
	_cleanup_(freep) char *path =
		all->count > 1 ? must_printf("%s/%s", top, name) : must_strdup(top);
	struct lttng_origin what = {
		.host = export_input_host(e, host),
		.kernel = meta ? meta->kernel : NULL,
		.realtime_offset = export_input_realtime(e),
	};

	if (all->count > 1 && mkdir(path, 0700) < 0)
		return err_errno(err, "cannot create '%s'", path);
	return ctf_export_write(all->items[host], &what, path, err);
}

static void remove_all(char *path)
{
	char *paths[] = { path, NULL };
	FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);

	for (FTSENT *entry; fts && (entry = fts_read(fts));)
		if (entry->fts_info == FTS_F)
			unlink(entry->fts_accpath);
		else if (entry->fts_info == FTS_DP)
			rmdir(entry->fts_accpath);
	if (fts)
		fts_close(fts);
}

/* Under sudo, change the owner to the calling user; best effort. */
static void chown_to_sudo_user(char *path)
{
	char *paths[] = { path, NULL };
	uid_t uid;
	gid_t gid;

	if (!caps_sudo_user(&uid, &gid))
		return;

	FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);

	for (FTSENT *entry; fts && (entry = fts_read(fts));)
		if (entry->fts_info != FTS_DP && lchown(entry->fts_accpath, uid, gid) < 0)
			break;
	if (fts)
		fts_close(fts);
}

static int write_all(const struct export_input *e, const exports *all, const char *directory,
		     struct err *err)
{
	size_t len = strlen(directory);

	while (len > 1 && directory[len - 1] == '/')
		len--;

	_cleanup_(freep) char *temporary = must_printf("%.*s.partial-XXXXXX", (int)len, directory);
	int r = 0;

	if (!mkdtemp(temporary))
		return err_errno(err, "cannot create a temporary directory next to '%s'",
				 directory);
	for (size_t i = 0; i < all->count && r == 0; i++)
		r = write_host(e, all, i, temporary, err);
	if (r == 0)
		chown_to_sudo_user(temporary);
	if (r == 0 && rename(temporary, directory) < 0)
		r = errno == ENOTEMPTY || errno == EEXIST
			    ? err_set(err, -EEXIST, "cannot write to '%s': directory not empty",
				      directory)
			    : err_errno(err, "cannot create '%s'", directory);
	if (r < 0)
		remove_all(temporary);
	return r;
}

static bool is_empty(const char *directory)
{
	DIR *dir = opendir(directory);
	size_t count = 0;

	if (!dir)
		return false;
	while (readdir(dir))
		count++;
	closedir(dir);
	return count <= 2; /* "." and ".." */
}

/* Checked before reading the inputs, which can take long. */
static int check_directory(const char *directory, struct err *err)
{
	struct stat st;

	if (lstat(directory, &st) < 0)
		return errno == ENOENT ? 0 : err_errno(err, "cannot write to '%s'", directory);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, -ENOTDIR, "cannot write to '%s': not a directory", directory);
	if (!caps_is_own_user(st.st_uid))
		return err_set(err, -EPERM,
			       "cannot write to '%s': it belongs to another user (uid %u)",
			       directory, st.st_uid);
	return is_empty(directory)
		       ? 0
		       : err_set(err, -EEXIST, "cannot write to '%s': directory not empty",
				 directory);
}

int export_ctf(struct export_input *e, const char *directory, struct err *err)
{
	struct err damage = { "" };
	exports all = { 0 };
	int r = check_directory(directory, err);

	if (r < 0)
		return r;

	/* of a damaged input, export what comes before the damage */
	int damaged = collect(e, &all, &damage);

	if (!all.count)
		*vec_push(&all) = ctf_export_new();
	warn_left_out(&all);
	r = write_all(e, &all, directory, err);
	if (r == 0 && damaged < 0)
		*err = damage;
	exports_done(&all);
	return r < 0 ? r : damaged;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* replay - files through the pump, as fast as possible. */
#include "live/live_internal.h"
#include "read/merge.h"

static int replay_next(struct live *live, const struct record **ret,
		       const struct source **ret_source, struct err *err)
{
	return merge_next(live->input, ret, ret_source, err);
}

static void add_warnings(struct live *live)
{
	const char *text;

	for (size_t i = 0; (text = merge_warning(live->input, i)); i++)
		live_set_warning(live, text);
}

/* Replays up to the next tick; does not wait.  Damage ends the replay after the last tick. */
static int replay_poll(struct live *live, int timeout, int extra_fd, struct err *err)
{
	int r = live_pump(live, err);

	(void)timeout;
	if (r <= 0) {
		add_warnings(live);
		r = live_finish(live, r, err);
	}
	return LIVE_RUNNING | r | live_check_input(extra_fd);
}

static void replay_free(struct live *live)
{
	merge_free(live->input);
}

static const struct feed replay = { replay_poll, replay_next, replay_free };

int live_open_files(char **inputs, const struct live_options *options, struct live **ret,
		    struct err *err)
{
	struct merge *merge;
	int r = merge_open(inputs, NULL, &merge, err);

	if (r < 0)
		return r;

	struct live *live = live_new(options, &replay, merge);

	live->state.is_replay = true;
	live->state.realtime_offset = merge_realtime_offset(merge);
	free((char *)live->state.host);
	live->state.host = must_strdup(merge_host_name(merge, 0));
	live_restart(live, merge_start(merge));
	*ret = live;
	return 0;
}

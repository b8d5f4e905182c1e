/* SPDX-License-Identifier: Apache-2.0 */
#include "record/serve.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "record/recorder.h"
#include "record/stream_sink.h"

/* Verbs per round; a reader that sends more waits. */
enum { VERBS_PER_ROUND = 16 };

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Negative if the reader is gone. */
static int obey_verbs(struct recorder *rec, struct sink *sink, int stream)
{
	struct verb_message message;
	int r = 1;

	for (int i = 0; i < VERBS_PER_ROUND && r > 0; i++) {
		struct err err;
		char text[sizeof(err.text) + 32];

		r = verb_receive(stream, &message);
		if (r <= 0 || recorder_obey(rec, &message, &err) == 0)
			continue;
		snprintf(text, sizeof(text), "the recorder refuses: %s", err.text);
		sink_note(sink, text);
	}
	return r;
}

static int run(const struct record_options *options, int stream, struct sink *sink, struct err *err)
{
	_cleanup_(recorder_freep) struct recorder *rec = NULL;
	struct recorder_stats unused;
	int r = recorder_open(options, sink, &rec, err);

	if (r < 0)
		return r;
	while ((r = recorder_poll(rec, err)) > 0)
		if (obey_verbs(rec, sink, stream) < 0)
			return 0;
	return r < 0 ? r : recorder_close(rec, &unused, err);
}

int recorder_serve(const struct record_options *options, int stream, struct err *err)
{
	_cleanup_(stream_sink_done) struct stream_sink sink;
	struct record_options o = *options;

	catch_signals();
	o.stop = &stop;
	stream_sink_init(&sink, stream);

	int r = run(&o, stream, &sink.sink, err);

	return r == -EPIPE ? 0 : r;
}

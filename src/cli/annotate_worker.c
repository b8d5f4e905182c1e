/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/annotate_worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "annotate/worker.h"
#include "base/clock.h"
#include "cli/log.h"
#include "record/keeper.h"
#include "record/privilege.h"

#define PAUSE_MIN NSEC_PER_SEC
#define PAUSE_MAX (30 * NSEC_PER_SEC)

/* Bytes of slow spans, or of annotations, that wait for the other side. */
enum { QUEUE_MAX = 20 << 20 };

/* The worker has no use for the relay's connections, and must not keep them open. */
static void close_others(int a, int b)
{
	int low = a < b ? a : b, high = a < b ? b : a;

	if (low > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, low - 1, 0);
	if (high > low + 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0u, 0);
}

/* The child. */
static int run_worker(const struct worker_process *w, int fd, struct err *err)
{
	_cleanup_(live_freep) struct live *live = NULL;
	_cleanup_(channel_freep) struct channel *channel = NULL;
	struct err warning = { "" };
	int r;

	close_others(fd, keeper_fd(w->keeper));
	channel = channel_new(fd, QUEUE_MAX);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_IGN); /* the relay ends it, after the last spans */
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	r = privilege_drop_reader(0, 0, &warning);
	if (r < 0) {
		*err = warning;
		return r;
	}
	r = live_open_keeper(w->keeper, &w->options, &live, err);
	return r < 0 ? r : annotate_worker_run(live, channel, &w->worker, err);
}

int worker_process_start(struct worker_process *w, struct err *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return err_errno(err, "cannot create a socket");

	pid_t pid = fork();

	if (pid == 0) {
		struct err why = { "" };
		int r = run_worker(w, ends[1], &why);

		if (r < 0)
			log_message("%s", why.text);
		_exit(r < 0);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return err_errno(err, "cannot start a process");
	}
	w->pid = pid;
	w->channel = channel_new(ends[0], QUEUE_MAX);
	w->start_at = 0;
	return 0;
}

int worker_process_reap(struct worker_process *w)
{
	int status = 0;

	channel_free(w->channel);
	w->channel = NULL;
	while (w->pid && waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
		;
	w->pid = 0;
	w->pause = w->pause ? (w->pause < PAUSE_MAX / 2 ? 2 * w->pause : PAUSE_MAX) : PAUSE_MIN;
	w->start_at = clock_now() + w->pause;
	return status;
}

bool worker_process_restart(struct worker_process *w)
{
	struct err err;

	if (w->pid || clock_now() < w->start_at)
		return false;
	w->restarts++;
	if (worker_process_start(w, &err) == 0)
		return true;
	w->start_at = clock_now() + PAUSE_MAX;
	return false;
}

void worker_process_end(struct worker_process *w)
{
	if (w->pid)
		worker_process_reap(w);
}

void worker_process_skip(struct worker_process *w, const struct endpoints *endpoints)
{
	for (size_t i = 0; i < OTLP_SIGNAL_COUNT; i++) {
		const struct endpoint *e = &endpoints->signals[i];
		const char *colon = strrchr(e->name, ':');
		uint16_t port = colon ? strtoul(colon + 1, NULL, 10) : 0;

		w->worker.skip_ports[i] = e->is_loopback || (port != 80 && port != 443) ? port : 0;
	}
}

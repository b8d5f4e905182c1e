/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

/* Alternate screen, no cursor, no line wrap; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l\033[2J"
#define LEAVE "\033[0m\033[?7h\033[?25h\033[?1049l"
/* Terminals that know this show the frame at once, the others ignore it. */
#define FRAME_BEGIN "\033[?2026h"
#define FRAME_END "\033[?2026l"

/* For the handlers, which have no argument. */
static struct termios saved_mode;
static volatile sig_atomic_t is_entered;
static int keyboard; /* stdin, or the terminal itself if stdin is a stream of records */
static pid_t owner;  /* a child process must not restore the terminal when it exits */

static const int fatal_signals[] = { SIGSEGV, SIGABRT, SIGILL, SIGFPE, SIGQUIT };
static const int event_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGCONT };

/* What it calls is safe in a signal handler. */
static void leave(void)
{
	if (!is_entered || getpid() != owner)
		return;
	is_entered = 0;
	if (write(STDOUT_FILENO, LEAVE, strlen(LEAVE)) < 0)
		return; /* the terminal is gone */
	tcsetattr(keyboard, TCSADRAIN, &saved_mode);
}

static void enter(void)
{
	struct termios mode = saved_mode;

	mode.c_lflag &= ~(ICANON | ECHO);
	mode.c_iflag &= ~(IXON | ICRNL | INLCR);
	mode.c_cc[VMIN] = 1;
	mode.c_cc[VTIME] = 0;
	if (tcsetattr(keyboard, TCSADRAIN, &mode) < 0)
		return;
	is_entered = 1;
	if (write(STDOUT_FILENO, ENTER, strlen(ENTER)) < 0)
		return;
}

/* Runs with SA_RESETHAND: the second delivery has the default action. */
static void on_fatal(int number)
{
	leave();
	raise(number);
}

static void catch_fatal(void)
{
	struct sigaction action = { .sa_handler = on_fatal, .sa_flags = SA_RESETHAND };

	for (size_t i = 0; i < ARRAY_LEN(fatal_signals); i++)
		sigaction(fatal_signals[i], &action, NULL);
}

static void release_fatal(void)
{
	for (size_t i = 0; i < ARRAY_LEN(fatal_signals); i++)
		signal(fatal_signals[i], SIG_DFL);
}

bool terminal_usable(void)
{
	const char *name = getenv("TERM");

	if (!isatty(STDOUT_FILENO) || !name || !*name || strcmp(name, "dumb") == 0)
		return false;
	if (isatty(STDIN_FILENO))
		keyboard = STDIN_FILENO;
	else if (keyboard <= STDERR_FILENO)
		keyboard = open("/dev/tty", O_RDWR | O_CLOEXEC);
	return keyboard >= 0;
}

bool terminal_is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *terminal = getenv("TERM");

	if (terminal && strcmp(terminal, "linux") == 0)
		return false; /* the fonts of the console have no block characters */
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

static void read_size(struct terminal *t)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col || !size.ws_row)
		size = (struct winsize){ .ws_col = 80, .ws_row = 24 };
	t->columns = size.ws_col;
	t->rows = size.ws_row;
}

static sigset_t event_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(event_signals); i++)
		sigaddset(&set, event_signals[i]);
	return set;
}

static int open_wait(struct terminal *t, struct err *err)
{
	struct epoll_event readable = { .events = EPOLLIN };
	sigset_t set = event_set();

	t->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	t->wait = epoll_create1(EPOLL_CLOEXEC);
	if (t->signals < 0 || t->wait < 0 ||
	    epoll_ctl(t->wait, EPOLL_CTL_ADD, t->signals, &readable) < 0 ||
	    epoll_ctl(t->wait, EPOLL_CTL_ADD, keyboard, &readable) < 0)
		return err_errno(err, "cannot wait for keys");
	return 0;
}

int terminal_open(struct terminal *t, struct err *err)
{
	sigset_t set = event_set();

	*t = (struct terminal){ .signals = -1, .wait = -1 };
	if (tcgetattr(keyboard, &saved_mode) < 0)
		return err_errno(err, "cannot read the mode of the terminal");

	int r = open_wait(t, err);

	if (r < 0)
		return r;
	owner = getpid();
	atexit(leave);
	catch_fatal();
	signal(SIGPIPE, SIG_IGN); /* main() would exit without restoring the terminal */
	sigprocmask(SIG_BLOCK, &set, NULL);
	read_size(t);
	enter();
	return 0;
}

void terminal_close(struct terminal *t)
{
	sigset_t set = event_set();

	if (owner != getpid())
		return;
	leave();
	release_fatal();
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	closep(&t->signals);
	closep(&t->wait);
}

/* Ctrl-Z: stop as other programs do, with the terminal restored. */
static void suspend(void)
{
	sigset_t stop;

	leave();
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, NULL); /* stops here, until SIGCONT */
	sigprocmask(SIG_BLOCK, &stop, NULL);
	enter();
}

static enum terminal_event next_signal(struct terminal *t)
{
	struct signalfd_siginfo info;

	if (read(t->signals, &info, sizeof(info)) != sizeof(info))
		return TERMINAL_NOTHING;
	switch (info.ssi_signo) {
	case SIGTSTP:
		suspend();
		break;
	case SIGCONT: /* after SIGSTOP, the shell has changed the mode */
		enter();
		break;
	case SIGWINCH:
		break;
	default:
		return TERMINAL_END;
	}
	read_size(t);
	return TERMINAL_REDRAW;
}

/* Reads what was typed, if there is anything.  Returns 1, 0, or -EIO if the terminal is gone. */
static int read_keys(struct terminal *t)
{
	struct pollfd in = { .fd = keyboard, .events = POLLIN };
	char bytes[64];

	if (poll(&in, 1, t->keys.count ? KEYS_PAUSE : 0) <= 0)
		return 0;

	ssize_t n = read(keyboard, bytes, sizeof(bytes));

	if (n <= 0)
		return n < 0 && (errno == EINTR || errno == EAGAIN) ? 0 : -EIO;
	keys_feed(&t->keys, bytes, n);
	return 1;
}

enum terminal_event terminal_next(struct terminal *t, uint32_t *ret_key)
{
	enum terminal_event event = next_signal(t);
	int r;

	if (event != TERMINAL_NOTHING)
		return event;
	*ret_key = keys_next(&t->keys, false);
	if (*ret_key)
		return TERMINAL_KEY;
	do { /* again after the beginning of a sequence */
		r = read_keys(t);
		if (r < 0)
			return TERMINAL_END;
		*ret_key = keys_next(&t->keys, r == 0);
	} while (r && !*ret_key && t->keys.count);
	return *ret_key ? TERMINAL_KEY : TERMINAL_NOTHING;
}

static int write_all(const char *bytes, size_t count)
{
	struct pollfd terminal = { .fd = STDOUT_FILENO, .events = POLLOUT };

	for (size_t done = 0; done < count;) {
		ssize_t n = write(STDOUT_FILENO, bytes + done, count - done);

		if (n >= 0)
			done += n;
		else if (errno == EAGAIN) /* another program has made it non-blocking */
			poll(&terminal, 1, -1);
		else if (errno != EINTR)
			return -errno;
	}
	return 0;
}

int terminal_show(const char *bytes, size_t count)
{
	size_t begin = strlen(FRAME_BEGIN), end = strlen(FRAME_END);
	_cleanup_(freep) char *frame = must_alloc(begin + count + end);

	memcpy(frame, FRAME_BEGIN, begin);
	memcpy(frame + begin, bytes, count);
	memcpy(frame + begin + count, FRAME_END, end);
	return write_all(frame, begin + count + end);
}

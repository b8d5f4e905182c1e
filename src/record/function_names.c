/* SPDX-License-Identifier: Apache-2.0 */
#include "record/function_names.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"

/* Time for the frames of one child, and between two children. */
#define RESOLVE_BUDGET (10 * NSEC_PER_SEC)
#define RESOLVE_INTERVAL (1 * NSEC_PER_SEC)

enum {
	TEXT_MAX = 4096,       /* of a name or source file */
	CACHE_MAX = 1 << 15,   /* frames; beyond it, the cache starts again */
	WAITING_MAX = 1 << 16, /* frames that wait for a child; further ones stay without a name */
};

/* A function in the pipe and in the cache, followed by its name and its source, without NULs. */
struct name_message {
	uint32_t index; /* of the frame in its batch */
	uint32_t line, offset;
	uint16_t depth, name_size, source_size, pad;
};

struct frame_todo {
	uint64_t key;
	uint32_t frame;
	struct symbol_location location;
};

typedef VEC(struct frame_todo) frame_list;
typedef VEC(char) byte_list;

/* The functions of a frame, from the innermost inlined one on. */
struct cached_functions {
	byte_list bytes; /* messages */
	uint32_t count;
};

struct function_names {
	struct symbols *symbols; /* borrowed */
	int socket;
	function_name_fn *fn;
	void *arg;
	frame_list todo;  /* for the next child */
	frame_list batch; /* of the current child */
	pid_t child;      /* 0: none */
	int pipe;
	byte_list received; /* from the child, incomplete */
	nsec_t next_child;
	struct map cache; /* key -> index in `functions` */
	VEC(struct cached_functions) functions;
};

struct function_names *function_names_new(struct symbols *symbols, int socket, function_name_fn *fn,
					  void *arg)
{
	struct function_names *n = must_alloc(sizeof(*n));

	*n = (struct function_names){
		.symbols = symbols, .socket = socket, .fn = fn, .arg = arg, .pipe = -1
	};
	return n;
}

static void clear_cache(struct function_names *n)
{
	for (size_t i = 0; i < n->functions.count; i++)
		vec_done(&n->functions.items[i].bytes);
	n->functions.count = 0;
	map_done(&n->cache);
	n->cache = (struct map){ 0 };
}

/* The child dies with its pipe at the latest, so this does not wait for long. */
static void end_child(struct function_names *n)
{
	closep(&n->pipe);
	if (n->child)
		waitpid(n->child, NULL, 0);
	n->child = 0;
	n->batch.count = 0;
	n->received.count = 0;
}

void function_names_free(struct function_names *n)
{
	if (!n)
		return;
	if (n->child)
		kill(n->child, SIGKILL);
	end_child(n);
	clear_cache(n);
	vec_done(&n->functions);
	vec_done(&n->todo);
	vec_done(&n->batch);
	vec_done(&n->received);
	free(n);
}

/* In a file, the offset says everything; otherwise, the address in its process. */
static uint64_t key_of(const struct symbol_location *l)
{
	uint64_t key[] = { l->offset ? 0 : l->address, l->offset,
			   (uint64_t)l->module << 32 | (l->offset ? 0 : l->pid), l->is_return };

	return hash_bytes(key, sizeof(key));
}

/* In the child. */
static void send_name(void *arg, size_t index, const struct symbol_function *chain, size_t count)
{
	int fd = *(const int *)arg;
	char bytes[sizeof(struct name_message) + 2 * TEXT_MAX];

	for (size_t i = 0; i < count; i++) {
		struct name_message m = { .index = index,
					  .line = chain[i].line,
					  .offset = chain[i].offset,
					  .depth = i,
					  .name_size = strnlen(chain[i].name, TEXT_MAX),
					  .source_size = strnlen(chain[i].source, TEXT_MAX) };
		size_t size = sizeof(m) + m.name_size + m.source_size;

		memcpy(bytes, &m, sizeof(m));
		memcpy(bytes + sizeof(m), chain[i].name, m.name_size);
		memcpy(bytes + sizeof(m) + m.name_size, chain[i].source, m.source_size);
		if (write(fd, bytes, size) != (ssize_t)size)
			_exit(1);
	}
}

__attribute__((noreturn)) static void child_main(struct function_names *n, pid_t parent, int fd)
{
	struct symbol_location *locations = must_alloc(n->batch.count * sizeof(*locations));
	struct err err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	if (getppid() != parent)
		_exit(0);
	if (n->socket >= 0)
		close(n->socket);
	for (size_t i = 0; i < n->batch.count; i++)
		locations[i] = n->batch.items[i].location;
	symbol_resolve(n->symbols, locations, n->batch.count, RESOLVE_BUDGET, send_name, &fd, &err);
	_exit(0);
}

static void start_child(struct function_names *n)
{
	pid_t parent = getpid();
	frame_list empty = n->batch;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	n->batch = n->todo;
	n->todo = empty;
	n->child = fork();
	if (n->child == 0)
		child_main(n, parent, ends[1]);
	close(ends[1]);
	n->pipe = ends[0];
	if (n->child < 0) { /* these frames stay without a name */
		n->child = 0;
		end_child(n);
	}
}

/* The functions of a key in the cache, which are empty if it is new. */
static struct cached_functions *cached(struct function_names *n, uint64_t key)
{
	uint64_t *at = map_insert(&n->cache, key);

	if (!*at) {
		*vec_push(&n->functions) = (struct cached_functions){ 0 };
		*at = n->functions.count;
	}
	return &n->functions.items[*at - 1];
}

static size_t message_size(const struct name_message *m)
{
	return sizeof(*m) + m->name_size + m->source_size;
}

static void emit(struct function_names *n, uint32_t frame, const char *bytes)
{
	char name[TEXT_MAX + 1], source[TEXT_MAX + 1];
	struct name_message m;

	memcpy(&m, bytes, sizeof(m));
	memcpy(name, bytes + sizeof(m), m.name_size);
	memcpy(source, bytes + sizeof(m) + m.name_size, m.source_size);
	name[m.name_size] = source[m.source_size] = '\0';
	n->fn(n->arg, frame, m.depth,
	      &(struct symbol_function){
		      .name = name, .source = source, .line = m.line, .offset = m.offset });
}

static void emit_all(struct function_names *n, uint32_t frame, const byte_list *bytes)
{
	struct name_message m;

	for (size_t at = 0; at < bytes->count; at += message_size(&m)) {
		memcpy(&m, bytes->items + at, sizeof(m));
		emit(n, frame, bytes->items + at);
	}
}

/* Several frames of a batch can have the same key: the cache gets the functions of the first. */
static void receive_name(struct function_names *n, const char *bytes, const struct name_message *m)
{
	const struct frame_todo *f = &n->batch.items[m->index];
	struct cached_functions *functions = cached(n, f->key);

	if (functions->count == m->depth) {
		for (size_t i = 0; i < message_size(m); i++)
			*vec_push(&functions->bytes) = bytes[i];
		functions->count++;
	}
	emit(n, f->frame, bytes);
}

/* Whether the message is complete; -EBADMSG if it is malformed. */
static int check_message(const struct function_names *n, size_t at, struct name_message *ret)
{
	if (n->received.count - at < sizeof(*ret))
		return 0;
	memcpy(ret, n->received.items + at, sizeof(*ret));
	if (ret->index >= n->batch.count || ret->name_size > TEXT_MAX ||
	    ret->source_size > TEXT_MAX)
		return -EBADMSG;
	return n->received.count - at >= message_size(ret);
}

static void receive_names(struct function_names *n)
{
	char bytes[32 * 1024];
	ssize_t size = read(n->pipe, bytes, sizeof(bytes));
	struct name_message m;
	size_t at = 0;
	int r;

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	for (ssize_t i = 0; i < size; i++)
		*vec_push(&n->received) = bytes[i];
	while ((r = check_message(n, at, &m)) > 0) {
		receive_name(n, n->received.items + at, &m);
		at += message_size(&m);
	}
	n->received.count -= at;
	memmove(n->received.items, n->received.items + at, n->received.count);
	if (size > 0 && r == 0)
		return;
	for (size_t i = 0; i < n->batch.count; i++) /* those without a name are not tried again */
		cached(n, n->batch.items[i].key);
	end_child(n);
}

/* Frames with a known name do not need a child. */
static bool emit_cached(struct function_names *n, const struct frame_todo *f)
{
	const uint64_t *at = map_find(&n->cache, f->key);

	if (at)
		emit_all(n, f->frame, &n->functions.items[*at - 1].bytes);
	return at;
}

void function_names_add(struct function_names *n, uint32_t frame,
			const struct symbol_location *location)
{
	struct frame_todo todo = { key_of(location), frame, *location };
	struct symbol_function function;

	if (location->pid == 0) {
		if (symbol_find_kernel(n->symbols, location, &function))
			n->fn(n->arg, frame, 0, &function);
	} else if (!emit_cached(n, &todo) && n->todo.count < WAITING_MAX) {
		*vec_push(&n->todo) = todo;
	}
}

/* Several frames can wait for one name. */
static void use_cache(struct function_names *n)
{
	size_t left = 0;

	for (size_t i = 0; i < n->todo.count; i++)
		if (!emit_cached(n, &n->todo.items[i]))
			n->todo.items[left++] = n->todo.items[i];
	n->todo.count = left;
}

void function_names_poll(struct function_names *n, nsec_t now)
{
	if (n->child)
		receive_names(n);
	if (n->child || now < n->next_child || n->todo.count == 0)
		return;
	n->next_child = now + RESOLVE_INTERVAL;
	use_cache(n);
	if (n->functions.count > CACHE_MAX)
		clear_cache(n);
	if (n->todo.count)
		start_child(n);
}

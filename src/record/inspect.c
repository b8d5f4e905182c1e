/* SPDX-License-Identifier: Apache-2.0 */
#include "record/inspect.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/caps.h"
#include "event/span_wire.h"
#include "record/spans/process_scan.h"
#include "record/spans/ring_reader.h"
#include "record/tls/locate.h"

/* Names of mapped files that identify a language or an SDK. */
static const struct trait {
	const char *pattern; /* of the base name */
	const char *what;
	const char *binding; /* sonde's library for it; NULL if there is none */
	const char *missing; /* why this build does not include the binding; "" if it does */
} traits[] = {
	{ "libopentelemetry_trace.so*", "opentelemetry-cpp", "libsonde-agent-otel-cpp.so",
	  OTEL_CPP_MISSING },
	{ "python[23]*", "Python", "libsonde-agent-python.so", OTEL_PYTHON_MISSING },
	{ "libpython[23]*.so*", "Python", "libsonde-agent-python.so", OTEL_PYTHON_MISSING },
	{ "libjvm.so", "Java", NULL, "" },
	{ "node", "Node.js", NULL, "" },
	{ "libnode.so*", "Node.js", NULL, "" },
	{ "libcoreclr.so", ".NET", NULL, "" },
	{ "libruby*.so*", "Ruby", NULL, "" },
};

struct loaded_files {
	const struct trait *trait; /* the first in the list that matches */
	bool has_binding, has_agent, has_loader;
};

static void check_file(struct loaded_files *s, const char *name)
{
	const struct trait *first = &traits[ARRAY_LEN(traits) - 1];

	if (strcmp(name, "libsonde-agent.so") == 0 || fnmatch("libsonde-agent.so.*", name, 0) == 0)
		s->has_agent = true;
	if (fnmatch("ld-*.so*", name, 0) == 0)
		s->has_loader = true;
	for (const struct trait *t = first; t >= traits; t--) {
		if (fnmatch(t->pattern, name, 0) == 0 && (!s->trait || t < s->trait))
			s->trait = t;
		if (t->binding && fnmatch(t->binding, name, 0) == 0)
			s->has_binding = true;
	}
}

static int check_files(uint32_t pid, struct loaded_files *s, struct err *err)
{
	char path[64], line[4096 + 128];

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);

	FILE *file = fopen(path, "re");

	if (!file)
		return errno == ENOENT ? err_set(err, -ESRCH, "there is no process %u", pid)
				       : err_errno(err, "cannot inspect process %u", pid);
	while (fgets(line, sizeof(line), file)) {
		char *name = strrchr(line, '/');

		if (!name)
			continue;
		name[strcspn(name, "\n ")] = '\0';
		check_file(s, name + 1);
	}
	fclose(file);
	return 0;
}

struct feature_list {
	struct feature *items;
	size_t count;
};

__attribute__((format(printf, 5, 6))) static void add(struct feature_list *list, const char *name,
						      const char *provides, bool ok,
						      const char *format, ...)
{
	struct feature *f = &list->items[list->count++];
	va_list args;

	*f = (struct feature){ .name = name, .provides = provides, .ok = ok };
	va_start(args, format);
	vsnprintf(f->why, sizeof(f->why), format, args);
	va_end(args);
}

__attribute__((format(printf, 2, 3))) static void remedy(struct feature_list *list,
							 const char *format, ...)
{
	struct feature *f = &list->items[list->count - 1];
	va_list args;

	va_start(args, format);
	vsnprintf(f->remedy, sizeof(f->remedy), format, args);
	va_end(args);
}

static void add_agent(struct feature_list *list, const struct loaded_files *s)
{
	static const char provides[] = "spans of the SDK in the process";

	if (s->has_agent) {
		add(list, "agent", provides, true, "libsonde-agent.so is loaded");
	} else if (!s->has_loader) {
		add(list, "agent", provides, false,
		    "statically linked: libsonde-agent.so cannot be preloaded");
	} else {
		add(list, "agent", provides, false, "libsonde-agent.so is not loaded");
		remedy(list, "start the program with 'sonde run -- COMMAND'");
	}
}

static void add_sdk(struct feature_list *list, const struct loaded_files *s,
		    const struct process_scan *scan)
{
	static const char provides[] = "names, starts and ends of spans";
	const char *what = s->trait ? s->trait->what : "";

	if (s->has_binding && scan->arena_inode)
		add(list, "sdk", provides, true, "%s; sonde's binding is loaded", what);
	else if (s->has_binding)
		add(list, "sdk", provides, false,
		    "%s; sonde's binding does not support this version of the SDK", what);
	else if (s->has_agent && scan->arena_inode)
		add(list, "sdk", provides, true, "%s%sthe process uses sonde.h", what,
		    s->trait ? "; " : "");
	else if (!s->trait)
		add(list, "sdk", provides, false, "no known SDK, and no use of sonde.h yet");
	else if (!s->trait->binding)
		add(list, "sdk", provides, false, "%s; sonde has no binding for it", what);
	else if (*s->trait->missing)
		add(list, "sdk", provides, false,
		    "%s; this build of sonde has no binding for it: %s", what, s->trait->missing);
	else if (!s->has_agent)
		add(list, "sdk", provides, false, "%s; the agent is not loaded", what);
	else
		add(list, "sdk", provides, false,
		    "%s; the process has not loaded a tracer of the SDK yet", what);
}

static void add_context(struct feature_list *list, uint32_t pid)
{
	_cleanup_(tls_files_freep) struct tls_files *files = tls_files_new();
	struct tls_location location;
	struct err err = { "" };
	int r = tls_locate(files, pid, &location, &err);

	if (r == 0)
		add(list, "context", "the current span of each thread", true,
		    TLS_SYMBOL " in '%s', %s", location.object, location.model);
	else
		add(list, "context", "the current span of each thread", false, "%s", err.text);
	if (r == -EPERM || r == -EACCES)
		remedy(list, "run as root, or as the process's user");
}

static void add_service(struct feature_list *list, uint32_t pid, uint64_t device,
			const struct process_scan *scan)
{
	static const char provides[] = "the service name of the process";
	char service[PROCESS_SCAN_SERVICE_MAX];

	if (!scan->context)
		add(list, "service", provides, false,
		    "the process publishes no process context (OTEL_CTX)");
	else if (process_scan_read_service(pid, device, scan, service))
		add(list, "service", provides, true, "'%s', from its process context", service);
	else
		add(list, "service", provides, false,
		    "its process context has no service name, or is unreadable");
}

static void add_spans(struct feature_list *list, uint32_t pid, const struct process_scan *scan)
{
	_cleanup_(closep) int fd = scan->arena_inode ? process_scan_open_arena(pid, scan) : -1;
	static const char provides[] = "starts and ends of spans, as they happen";

	if (scan->arena_inode)
		add(list, "spans", provides, true, "sonde can read them from the process%s",
		    fd == -EPERM || fd == -EACCES ? ", with CAP_CHECKPOINT_RESTORE" : "");
	else
		add(list, "spans", provides, false, "the process has written no spans yet");
}

static int inspect(uint32_t pid, struct feature ret[FEATURE_MAX], size_t *ret_count,
		   struct err *err)
{
	struct feature_list list = { .items = ret };
	uint64_t device = arena_file_device();
	struct loaded_files files = { 0 };
	struct process_scan scan = { 0 };
	int r = check_files(pid, &files, err);

	if (r < 0)
		return r;
	r = process_scan_run(pid, device, &scan);
	if (r < 0)
		return err_set(err, r, "cannot inspect process %u: %s", pid, strerror(-r));
	add_agent(&list, &files);
	add_sdk(&list, &files, &scan);
	add_context(&list, pid);
	add_service(&list, pid, device, &scan);
	add_spans(&list, pid, &scan);
	*ret_count = list.count;
	return 0;
}

int inspect_process(uint32_t pid, struct feature ret[FEATURE_MAX], size_t *ret_count,
		    struct err *err)
{
	caps_raise();

	int r = inspect(pid, ret, ret_count, err);

	caps_lower();
	return r;
}

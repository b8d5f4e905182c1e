/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compare resolved symbols with programs that print the addresses, names and
 * lines of their own functions (subject/), which are next to this test.
 */
#include "record/symbol/symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/vec.h"
#include "record/symbol/internal.h"
#include "test.h"

#define BUDGET (20 * NSEC_PER_SEC)

struct truth {
	char text[1024]; /* function, source, line, separated by tabs */
	struct symbol_location place;
	char found[4096]; /* the resolved functions, in the same form */
};

struct subject {
	pid_t pid;
	int in;
	FILE *out;
	VEC(struct truth) truths;
};

static const char *subject_path(const char *name)
{
	static char path[PATH_MAX + 64];
	char self[PATH_MAX] = "";

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return name;
	snprintf(path, sizeof(path), "%s/%s", dirname(self), name);
	return path;
}

/* Start the program in a child with these clone() flags, and read its output. */
static void subject_start(struct subject *s, const char *path, const char *arg, int flags,
			  const char *(*prepare)(const char *path))
{
	int in[2], out[2];
	char line[1200];

	*s = (struct subject){ .in = -1 };
	if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
		abort();
	s->pid = syscall(SYS_clone, SIGCHLD | flags, NULL, NULL, NULL, NULL);
	if (s->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		path = prepare ? prepare(path) : path;
		if (path)
			execl(path, path, arg, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	s->in = in[1];
	s->out = fdopen(out[0], "r");
	while (fgets(line, sizeof(line), s->out) && line[0] != '.') {
		struct truth *t = vec_push(&s->truths);
		char *tab = line + strcspn(line, "\t");

		*t = (struct truth){ .place.address = strtoull(line, NULL, 16) };
		tab[strcspn(tab, "\n")] = '\0';
		snprintf(t->text, sizeof(t->text), "%s", *tab ? tab + 1 : tab);
	}
}

static void subject_locate(struct subject *s, struct symbols *syms)
{
	for (size_t i = 0; i < s->truths.count; i++) {
		struct truth *t = &s->truths.items[i];

		symbol_locate(syms, s->pid, t->place.address, true, &t->place);
	}
}

static void subject_end(struct subject *s)
{
	close(s->in);
	waitpid(s->pid, NULL, 0);
	fclose(s->out);
}

/* Compilers store different parts of a path: compare the file name. */
static void note(void *arg, size_t index, const struct symbol_function *chain, size_t count)
{
	struct truth *t = &((struct truth *)arg)[index];
	size_t used = 0;

	for (size_t i = 0; i < count && used < sizeof(t->found); i++) {
		const char *slash = strrchr(chain[i].source, '/');

		used += snprintf(t->found + used, sizeof(t->found) - used, "%s%s\t%s\t%u",
				 i ? "\t" : "", chain[i].name, slash ? slash + 1 : chain[i].source,
				 chain[i].line);
	}
}

static void subject_resolve(struct subject *s, struct symbols *syms, nsec_t budget)
{
	struct symbol_location *places = must_alloc(s->truths.count * sizeof(*places));
	struct err err;

	for (size_t i = 0; i < s->truths.count; i++)
		places[i] = s->truths.items[i].place;
	CHECK_INT(symbol_resolve(syms, places, s->truths.count, budget, note, s->truths.items,
				 &err),
		  0);
	free(places);
}

/* Start the program, locate its addresses, end it, and resolve them. */
static void run_at(struct subject *s, const char *path, const char *arg)
{
	_cleanup_(symbols_freep) struct symbols *syms = symbols_new();

	subject_start(s, path, arg, 0, NULL);
	CHECK(s->truths.count > 10);
	subject_locate(s, syms);
	for (size_t i = 0; i < s->truths.count; i++)
		CHECK(s->truths.items[i].place.module != 0);
	subject_end(s);
	subject_resolve(s, syms, BUDGET);
}

static void run_subject(struct subject *s, const char *name, const char *arg)
{
	run_at(s, subject_path(name), arg);
}

/* Names, lines and inlined functions; the label has no debug information. */
static void check_all(struct subject *s)
{
	for (size_t i = 0; i < s->truths.count; i++)
		CHECK_STR(s->truths.items[i].found, s->truths.items[i].text);
	vec_done(&s->truths);
}

/* Compare only the name of the outermost function. */
static void check_names(struct subject *s, bool may_miss)
{
	for (size_t i = 0; i < s->truths.count; i++) {
		struct truth *t = &s->truths.items[i];
		char *rest = t->text, *name, *want = NULL;

		t->found[strcspn(t->found, "\t")] = '\0';
		while ((name = strsep(&rest, "\t")) && strsep(&rest, "\t") && strsep(&rest, "\t"))
			want = name;
		if (!may_miss || *t->found)
			CHECK_STR(t->found, want);
	}
	vec_done(&s->truths);
}

TEST(a_program_and_its_library_have_functions_lines_and_inlined_functions)
{
	struct subject s;

	run_subject(&s, "pie", NULL);
	check_all(&s);
}

TEST(a_program_at_a_fixed_address_is_resolved)
{
	struct subject s;

	run_subject(&s, "fixed", NULL);
	check_all(&s);
	run_subject(&s, "static", NULL);
	check_all(&s);
}

/* The output of addr2line, in the form of the expected text. */
static void ask_addr2line(const char *program, uint64_t address, char *ret, size_t room)
{
	char command[PATH_MAX + 128], name[256], source[1024], *colon;
	size_t used = 0;

	snprintf(command, sizeof(command), "addr2line -Cfise '%s' %" PRIx64, program, address);
	FILE *file = popen(command, "r");
	while (file && fscanf(file, "%255[^\n] %1023[^\n] ", name, source) == 2) {
		source[strcspn(source, " ")] = '\0'; /* (discriminator 2) */
		if ((colon = strchr(source, ':')))
			*colon = '\t';
		used += snprintf(ret + used, room - used, "%s%s\t%s", used ? "\t" : "", name,
				 source);
	}
	if (file)
		pclose(file);
}

TEST(addr2line_agrees)
{
	struct subject s;
	size_t compared = 0;

	if (system("addr2line --version >/dev/null 2>&1") != 0)
		SKIP("addr2line is not installed");
	run_subject(&s, "fixed", NULL);
	for (size_t i = 0; i < s.truths.count; i++) {
		struct truth *t = &s.truths.items[i];
		char said[4096] = "";

		if (strstr(t->found, ".c\t") && !strstr(t->found, "::") &&
		    !strstr(t->found, "brown")) {
			ask_addr2line(subject_path("fixed"), t->place.address - 1, said,
				      sizeof(said));
			CHECK_STR(t->found, said);
			compared++;
		}
	}
	CHECK(compared >= 7);
	vec_done(&s.truths);
}

TEST(old_compressed_and_split_dwarf_is_read)
{
	struct subject s;

	run_subject(&s, "dwarf4", NULL);
	check_all(&s);
	run_subject(&s, "compressed", NULL);
	check_all(&s);
	run_subject(&s, "split", NULL);
	check_all(&s);
}

TEST(a_separate_debug_file_is_read)
{
	struct subject s;

	run_subject(&s, "stripped", NULL);
	check_all(&s);
}

TEST(a_compressed_symbol_table_is_read)
{
	struct subject s;

	run_subject(&s, "packed", NULL);
	check_names(&s, false);
}

TEST(a_stripped_program_gets_no_wrong_names)
{
	struct subject s;

	run_subject(&s, "bare", NULL);
	check_names(&s, true);
}

TEST(jit_code_is_named_by_its_perf_map)
{
	struct subject s;
	char path[64];

	run_subject(&s, "pie", "jit");
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", s.pid);
	unlink(path);
	check_all(&s);
}

/* Copy a subject to a private directory. */
struct den {
	char folder[64], path[PATH_MAX];
};

static void copy(const char *from, const char *to)
{
	_cleanup_(closep) int in = open(from, O_RDONLY | O_CLOEXEC);
	_cleanup_(closep) int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	char buf[65536];

	for (ssize_t n; (n = read(in, buf, sizeof(buf))) > 0;)
		CHECK_INT(write(out, buf, n), n);
	CHECK(in >= 0 && out >= 0);
}

static void den_make(struct den *den, const char *subject, const char *name)
{
	strcpy(den->folder, "/tmp/sonde-symbol-XXXXXX");
	CHECK(mkdtemp(den->folder) != NULL);
	snprintf(den->path, sizeof(den->path), "%s/%s", den->folder, name);
	copy(subject_path(subject), den->path);
}

static void den_leave(struct den *den)
{
	unlink(den->path);
	CHECK_INT(rmdir(den->folder), 0);
}

static void put_another_there(struct den *den)
{
	CHECK_INT(unlink(den->path), 0);
	copy(subject_path("fixed"), den->path);
}

TEST(a_running_program_whose_file_was_replaced_keeps_its_own_symbols)
{
	_cleanup_(symbols_freep) struct symbols *syms = symbols_new();
	struct den den;
	struct subject s;

	den_make(&den, "static", "program");
	subject_start(&s, den.path, NULL, 0, NULL);
	put_another_there(&den);
	subject_locate(&s, syms);
	subject_end(&s);
	CHECK_STR(symbol_module(syms, s.truths.items[0].place.module), den.path);
	subject_resolve(&s, syms, BUDGET);
	check_all(&s);
	den_leave(&den);
}

TEST(a_file_replaced_after_it_was_located_is_not_read)
{
	_cleanup_(symbols_freep) struct symbols *syms = symbols_new();
	struct den den;
	struct subject s;

	den_make(&den, "static", "program");
	subject_start(&s, den.path, NULL, 0, NULL);
	subject_locate(&s, syms);
	subject_end(&s);
	put_another_there(&den);
	subject_resolve(&s, syms, BUDGET);
	for (size_t i = 0; i < s.truths.count; i++)
		CHECK_STR(s.truths.items[i].found, "");
	vec_done(&s.truths);
	den_leave(&den);
}

TEST(unusual_file_names_are_found)
{
	static const char *const names[] = { "new\nline",     "back\\012slash", "gone (deleted)",
					     "both\n\\012\n", " \t ",           "r-xp 00:00 0" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct den den;
		struct subject s;

		den_make(&den, "static", names[i]);
		run_at(&s, den.path, NULL);
		check_all(&s);
		den_leave(&den);
	}
}

/* Mount a private /tmp with the program in it. */
static const char *enter_box(const char *path)
{
	_cleanup_(closep) int from = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", "/tmp", "tmpfs", 0, NULL) != 0 || fstat(from, &st) != 0)
		return NULL;
	_cleanup_(closep) int to = open("/tmp/boxed", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	_cleanup_(freep) char *buf = must_alloc(st.st_size);
	if (read(from, buf, st.st_size) != st.st_size || write(to, buf, st.st_size) != st.st_size)
		return NULL;
	return "/tmp/boxed";
}

TEST(a_program_in_a_container_and_its_perf_map_are_found)
{
	_cleanup_(symbols_freep) struct symbols *syms = symbols_new();
	struct subject s;

	if (geteuid() != 0)
		SKIP("namespaces need root");
	subject_start(&s, subject_path("static"), "jit", CLONE_NEWPID | CLONE_NEWNS, enter_box);
	if (s.truths.count == 0) {
		subject_end(&s);
		SKIP("no namespaces here");
	}
	subject_locate(&s, syms);
	CHECK_STR(symbol_module(syms, s.truths.items[0].place.module), "/tmp/boxed");
	subject_end(&s);
	subject_resolve(&s, syms, BUDGET);
	check_all(&s);
}

TEST(an_exited_process_keeps_its_addresses)
{
	_cleanup_(symbols_freep) struct symbols *syms = symbols_new();
	struct symbol_location place;
	struct subject s;

	subject_start(&s, subject_path("fixed"), NULL, 0, NULL);
	subject_end(&s);
	symbol_locate(syms, s.pid, 4711, true, &place);
	CHECK_INT(place.address, 4711);
	CHECK_INT(place.module, 0);
	CHECK_STR(symbol_module(syms, place.module), "");
	vec_done(&s.truths);
}

/* The debug file is a pipe, so that reading it blocks. */
TEST(a_hanging_worker_times_out_and_its_replies_are_kept)
{
	_cleanup_(symbols_freep) struct symbols *syms = symbols_new();
	char pipe_path[128], words[640];
	struct den den;
	struct subject s;

	den_make(&den, "nameonly", "program");
	snprintf(pipe_path, sizeof(pipe_path), "%s/stripped.debug", den.folder);
	CHECK_INT(mkfifo(pipe_path, 0600), 0);
	subject_start(&s, den.path, NULL, 0, NULL);
	subject_locate(&s, syms);
	subject_end(&s);
	nsec_t start = clock_now();
	subject_resolve(&s, syms, NSEC_PER_SEC / 2);
	CHECK(clock_now() - start < 5 * NSEC_PER_SEC);
	CHECK(*s.truths.items[0].found);
	check_names(&s, true); /* its library may be resolved too late */
	CHECK(symbols_trouble(syms, words, sizeof(words)) &&
	      strstr(words, "/program': its parser timed out"));
	unlink(pipe_path);
	den_leave(&den);
}

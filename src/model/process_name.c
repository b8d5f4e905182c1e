/* SPDX-License-Identifier: Apache-2.0 */
#include "model/process_name.h"

#include <string.h>

#include "base/out.h"
#include "base/view.h"

/* Where an interpreter's arguments have the name of the program that it runs. */
static const struct interpreter {
	const char *name;   /* of the executable, without a version such as 3.11 */
	const char *values; /* options with the value in the next argument, each between blanks */
	const char *code;   /* options that are followed by code */
	const char *module; /* option that is followed by a name */
} interpreters[] = {
	{ "python", " -W -X ", " -c ", " -m " },
	{ "pypy", " -W -X ", " -c ", " -m " },
	{ "node", " -r -C --require --import --loader --experimental-loader --conditions ",
	  " -e -p -pe --eval --print ", "" },
	{ "nodejs", " -r -C --require --import --loader ", " -e -p -pe --eval --print ", "" },
	{ "deno", " run serve -c --config ", " eval ", "" },
	{ "bun", " run -r --preload ", " -e --eval ", "" },
	{ "ruby", " -I -r -C ", " -e ", "" },
	{ "perl", " -I ", " -e -E ", "" },
	{ "php", " -c -d -S -t -z ", " -r ", " -f " },
	{ "java",
	  " -cp -classpath --class-path -p --module-path --add-modules --add-opens --add-exports"
	  " --add-reads --upgrade-module-path ",
	  "", " -jar -m --module " },
	{ "dotnet", " exec --fx-version --depsfile --runtimeconfig ", "", "" },
	{ "beam.smp", "", "", " -sname -name " },
	{ "Rscript", "", " -e ", "" },
	{ "lua", " -l ", " -e ", "" },
	{ "sh", " -o ", " -c ", "" },
	{ "bash", " -o -O --rcfile --init-file ", " -c ", "" },
	{ "dash", " -o ", " -c ", "" },
	{ "zsh", " -o ", " -c ", "" },
};

/* Programs that run an application, and the options before its name; without, it is an operand. */
static const struct launcher {
	const char *name, *options;
} launchers[] = {
	{ "uvicorn", "" },          { "gunicorn", "" },
	{ "hypercorn", "" },        { "daphne", "" },
	{ "granian", "" },          { "fastapi", "" },
	{ "streamlit", "" },        { "waitress-serve", "" },
	{ "dramatiq", "" },         { "manage.py", "" },
	{ "artisan", "" },          { "rails", "" },
	{ "celery", " -A --app " }, { "flask", " -A --app " },
	{ "faust", " -A --app " },  { "uwsgi", " -w --module --wsgi-file --ini " },
};

struct arguments {
	const char *at;
};

/* The next argument; empty after the last. */
static struct view next_argument(struct arguments *a)
{
	struct view word;

	a->at += strspn(a->at, " ");
	word = (struct view){ a->at, strcspn(a->at, " ") };
	a->at += word.len;
	return word;
}

static struct view base_name(struct view path)
{
	while (path.len > 1 && path.s[path.len - 1] == '/')
		path.len--;
	for (size_t i = path.len; i > 0; i--)
		if (path.s[i - 1] == '/')
			return (struct view){ path.s + i, path.len - i };
	return path;
}

static struct view directory(struct view path)
{
	struct view base = base_name(path);

	return (struct view){ path.s, base.s > path.s ? base.s - path.s - 1 : 0 };
}

/* Whether a list of words between blanks has this word. */
static bool has_word(const char *list, struct view word)
{
	for (const char *at = list; word.len && *at; at += strcspn(at, " ")) {
		at += strspn(at, " ");
		if (strcspn(at, " ") == word.len && memcmp(at, word.s, word.len) == 0)
			return true;
	}
	return false;
}

/* Whether `name` is the interpreter's, with or without a version: python3.11, php8.2. */
static bool is_executable(const struct interpreter *in, struct view name)
{
	size_t len = strlen(in->name);

	if (name.len < len || memcmp(name.s, in->name, len) != 0)
		return false;
	for (size_t i = len; i < name.len; i++)
		if (!strchr("0123456789.-", name.s[i]))
			return false;
	return true;
}

static const struct interpreter *find_interpreter(struct view name)
{
	for (size_t i = 0; i < ARRAY_LEN(interpreters); i++)
		if (is_executable(&interpreters[i], name))
			return &interpreters[i];
	return NULL;
}

static void append_view(struct process_name *name, struct view text)
{
	size_t used = strlen(name->s), room = sizeof(name->s) - 1 - used, len = 0, n;

	/* never cut a character in half */
	while (len < text.len && len < room) {
		n = utf8_length(text.s + len, text.len - len);
		n = n ? n : 1;
		if (len + n > room)
			break;
		len += n;
	}
	memcpy(name->s + used, text.s, len);
	name->s[used + len] = '\0';
}

static void append_text(struct process_name *name, const char *text)
{
	append_view(name, (struct view){ text, strlen(text) });
}

/* Names that each project has; the directory tells them apart. */
static bool is_common(struct view base)
{
	return has_word(" index.js index.mjs index.ts main.py main.js main.mjs main.ts main.rb "
			"__main__.py cli.js index.php ",
			base);
}

/* "billing/index.js" of /srv/billing/dist/index.js, and "app.py" of /srv/shop/app.py. */
static void append_script(struct process_name *name, struct view path)
{
	struct view base = base_name(path), dir = directory(path);

	while (dir.len && has_word(" src dist build lib bin out . app ", base_name(dir)))
		dir = directory(dir);
	if (is_common(base) && dir.len && base_name(dir).s[0] != '/') {
		append_view(name, base_name(dir));
		if (view_is(base, "__main__.py"))
			return;
		append_text(name, "/");
	}
	append_view(name, base);
}

/* "Kafka" of kafka.Kafka; a class with a general name keeps its package. */
static void append_class(struct process_name *name, struct view class)
{
	struct view last = base_name(class); /* of MODULE/CLASS */
	size_t dot = last.len;

	while (dot > 0 && last.s[dot - 1] != '.')
		dot--;

	struct view simple = { last.s + dot, last.len - dot };

	append_view(name, !simple.len || has_word(" Main Bootstrap Launcher JarLauncher App "
						  "Application Server Cli Startup ",
						  simple)
				  ? last
				  : simple);
}

/* Whether an operand can name an application: main:app, proj.wsgi, app.py, or a subcommand. */
static bool is_application(struct view word)
{
	if (!word.len || word.s[0] == '-' || has_word(" run exec ", word))
		return false;
	for (size_t i = 0; i < word.len; i++)
		if (word.s[i] == '=' || word.s[i] == '@')
			return false;
	return word.s[0] < '0' || word.s[0] > '9';
}

static const struct launcher *find_launcher(struct view program)
{
	for (size_t i = 0; i < ARRAY_LEN(launchers); i++)
		if (view_is(program, launchers[i].name))
			return &launchers[i];
	return NULL;
}

/* Whether the value of an option of a launcher is the next argument: most have one. */
static bool takes_value(struct view option)
{
	return option.s[0] == '-' && !memchr(option.s, '=', option.len) &&
	       !has_word(" --reload --preload --debug --proxy-headers --no-access-log --dev "
			 "--daemon -D ",
			 option);
}

/* " main:app" after uvicorn: what the launcher runs. */
static void append_application(struct process_name *name, struct view program, struct arguments a)
{
	const struct launcher *launcher = find_launcher(program);
	struct view word, last = { "", 0 };

	if (!launcher)
		return;
	for (; (word = next_argument(&a)).len; last = word) {
		bool is_wanted = *launcher->options ? has_word(launcher->options, last)
						    : !last.len || !takes_value(last);

		if (!is_wanted || !is_application(word))
			continue;
		append_text(name, " ");
		append_view(name, base_name(word));
		return;
	}
}

static void append_program(struct process_name *name, struct view path, struct arguments rest)
{
	append_script(name, path);
	append_application(name, base_name(path), rest);
}

/* Erlang's runtime has options only. */
static bool has_operands(const struct interpreter *in)
{
	return *in->values || *in->code;
}

/* java runs a source file, too. */
static bool is_source(struct view word)
{
	return word.len > 5 && memcmp(word.s + word.len - 5, ".java", 5) == 0;
}

/* The rest of "python3 -Wignore -m uvicorn main:app" after the executable. */
static bool name_by_arguments(struct process_name *name, const struct interpreter *in,
			      struct arguments a)
{
	bool is_java = strcmp(in->name, "java") == 0;
	struct view word;

	while ((word = next_argument(&a)).len) {
		if (has_word(in->code, word))
			return false;
		if (has_word(in->module, word)) {
			bool is_class = is_java && !view_is(word, "-jar");
			struct view module = next_argument(&a);

			if (is_class)
				append_class(name, module);
			else
				append_program(name, module, a);
			return module.len > 0;
		}
		if (has_word(in->values, word)) {
			/* "deno run" is a command without a value */
			if (word.s[0] == '-')
				next_argument(&a);
			continue;
		}
		if (strchr("-+@", word.s[0]) || !has_operands(in))
			continue;
		if (is_java && !is_source(word))
			append_class(name, word);
		else
			append_program(name, word, a);
		return true;
	}
	return false;
}

/* Whether the interpreter runs code from its command line. */
static bool has_code(const struct interpreter *in, struct arguments a)
{
	struct view word;

	while ((word = next_argument(&a)).len && word.s[0] == '-')
		if (has_word(in->code, word))
			return true;
	return false;
}

/* "shop" of /system.slice/shop.service; the manager of a user's session is no service. */
static bool name_by_unit(struct process_name *name, const char *cgroup)
{
	static const char suffix[] = ".service";
	struct view path = { cgroup, strlen(cgroup) };

	for (; path.len > strlen(suffix); path = directory(path)) {
		struct view unit = base_name(path);
		size_t len = unit.len > strlen(suffix) ? unit.len - strlen(suffix) : 0;

		if (!len || memcmp(unit.s + len, suffix, strlen(suffix)) != 0 ||
		    strncmp(unit.s, "user@", 5) == 0)
			continue;
		append_view(name, (struct view){ unit.s, len });
		return true;
	}
	return false;
}

/* "gunicorn: worker [shop:app]", a title that the process wrote over its arguments. */
static bool name_by_title(struct process_name *name, struct view program, const char *cmdline)
{
	const char *open = strchr(cmdline, '['), *close = open ? strchr(open, ']') : NULL;

	if (!program.len || program.s[program.len - 1] != ':')
		return false;
	program.len--;
	append_view(name, program);
	if (close && close > open + 1 && !close[1] &&
	    !view_is((struct view){ open + 1, close - open - 1 }, name->s)) {
		append_text(name, " ");
		append_view(name, (struct view){ open + 1, close - open - 1 });
	}
	return true;
}

/* Whether comm is what the kernel made of an executable's name: its first 15 bytes. */
static bool is_cut_from(const char *comm, struct view name)
{
	size_t len = strlen(comm);

	return name.len >= len && memcmp(comm, name.s, len) == 0 && (len == name.len || len == 15);
}

/* Whether comm is the executable's name and the number of the main thread: "front/1". */
static bool is_numbered(const char *comm, struct view name)
{
	return name.len && strncmp(comm, name.s, name.len) == 0 && comm[name.len] &&
	       strchr("/:#-", comm[name.len]);
}

/* Whether the process has its name from its interpreter or script, and not from itself. */
static bool is_given(const char *comm, const char *name)
{
	struct view script = base_name((struct view){ name, strcspn(name, " ") });

	return !*comm || find_interpreter((struct view){ comm, strlen(comm) }) ||
	       strcmp(comm, "MainThread") == 0 || strcmp(comm, "node-MainThread") == 0 ||
	       is_cut_from(comm, script);
}

struct process_name process_name(const char *comm, const char *cmdline, const char *cgroup)
{
	struct arguments a = { cmdline };
	struct view program = base_name(next_argument(&a));
	struct process_name name = { "" };
	const struct interpreter *in;

	if (program.len > 1 && program.s[0] == '-') /* a login shell */
		program = (struct view){ program.s + 1, program.len - 1 };
	in = find_interpreter(program);
	if (in && (name_by_arguments(&name, in, a) || name_by_unit(&name, cgroup)) &&
	    is_given(comm, name.s))
		return name;
	name.s[0] = '\0';
	if (in && has_code(in, a)) {
		append_view(&name, program);
		append_text(&name, " -c");
		if (is_given(comm, name.s))
			return name;
		name.s[0] = '\0';
	}
	if (!in && name_by_title(&name, program, cmdline) && is_given(comm, name.s))
		return name;
	name.s[0] = '\0';
	if (!in && program.len &&
	    (!*comm || is_cut_from(comm, program) || is_numbered(comm, program))) {
		append_view(&name, program);
		append_application(&name, program, a);
	} else {
		append_text(&name, comm);
	}
	return name;
}

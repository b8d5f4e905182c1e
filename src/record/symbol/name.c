/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_name - demangle function names.
 *
 * C++ names are demangled by __cxa_demangle() of the C++ runtime.  sonde itself
 * does not need that library, but it is installed on hosts that run C++ programs.
 * So it is loaded at run time; without it, names stay mangled.
 *
 * Rust's legacy mangling looks like C++: _ZN, then each part of the path prefixed
 * with its length, the last one a hash, then E.  Special characters are written as
 * $LT$ or $u7e$.  It must not be demangled as C++.  rust.c handles the current
 * mangling.
 */
#include "record/symbol/internal.h"

#include <ctype.h>
#include <dlfcn.h>
#include <string.h>

#include "base/out.h"

enum { MANGLED_MAX = 8192 };

typedef char *demangle_fn(const char *name, char *buf, size_t *len, int *status);

/* Loaded once, before the process is confined. */
static demangle_fn *find_demangler(void)
{
	static demangle_fn *fn;
	static bool tried;

	if (!tried) {
		void *lib = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);

		tried = true;
		if (lib)
			fn = (demangle_fn *)dlsym(lib, "__cxa_demangle");
	}
	return fn;
}

void name_prepare(void)
{
	find_demangler();
}

const char *name_clean(const char *s, char buf[static NAME_ROOM])
{
	size_t used = 0, len = strlen(s);

	for (size_t n; len > 0; s += n, len -= n) {
		n = utf8_length(s, len);
		bool good = n > 0 && !utf8_control(s, n);

		n = n ? n : 1;
		if (used + n >= NAME_ROOM)
			break;
		if (good)
			memcpy(buf + used, s, n);
		else
			buf[used] = '?';
		used += good ? n : 1;
	}
	buf[used] = '\0';
	return buf;
}

/* Decode an escape such as $LT$ and advance *at; returns 0 if there is none. */
static char rust_escape(const char **at)
{
	static const struct {
		const char *name;
		char c;
	} escapes[] = { { "$SP$", '@' }, { "$BP$", '*' }, { "$RF$", '&' }, { "$LT$", '<' },
			{ "$GT$", '>' }, { "$LP$", '(' }, { "$RP$", ')' }, { "$C$", ',' } };

	for (size_t i = 0; i < ARRAY_LEN(escapes); i++) {
		size_t len = strlen(escapes[i].name);

		if (strncmp(*at, escapes[i].name, len) == 0) {
			*at += len;
			return escapes[i].c;
		}
	}
	unsigned int code;
	int used = 0;
	if (sscanf(*at, "$u%2x$%n", &code, &used) == 1 && used > 0 && isprint(code)) {
		*at += used;
		return code;
	}
	return 0;
}

/* Decode one part of a path; returns its length. */
static size_t rust_part(const char *at, size_t len, char *buf, size_t room)
{
	const char *end = at + len;
	size_t used = 0;
	char c;

	if (len > 1 && at[0] == '_' && at[1] == '$')
		at++;
	while (at < end && used + 2 < room) {
		if (*at == '$' && (c = rust_escape(&at)) != 0) {
			buf[used++] = c;
		} else if (at[0] == '.' && at + 1 < end && at[1] == '.') {
			buf[used++] = ':';
			buf[used++] = ':';
			at += 2;
		} else {
			buf[used++] = *at++;
		}
	}
	return used;
}

static bool is_hash(const char *at, size_t len)
{
	return len == 17 && at[0] == 'h' && strspn(at + 1, "0123456789abcdef") >= 16;
}

/* `raw` is the name without _ZN. */
static bool demangle_old_rust(const char *raw, char buf[static NAME_ROOM])
{
	size_t used = 0;

	while (isdigit((unsigned char)*raw)) {
		char *at;
		unsigned long len = strtoul(raw, &at, 10);

		if (len > strnlen(at, len))
			return false;
		if (is_hash(at, len))
			return at[len] == 'E' && used > 0;
		if (used > 0)
			used += snprintf(buf + used, NAME_ROOM - used, "::");
		if (used + 8 > NAME_ROOM)
			return false;
		used += rust_part(at, len, buf + used, NAME_ROOM - used);
		buf[used] = '\0';
		raw = at + len;
	}
	return false;
}

const char *name_readable(const char *raw, char buf[static NAME_ROOM])
{
	char name[MANGLED_MAX];
	size_t len = 1 + strcspn(raw + (*raw != '\0'), "@"); /* memcpy@@GLIBC_2.14 */
	int status;

	if (len >= sizeof(name))
		return name_clean(raw, buf);
	memcpy(name, raw, len);
	name[len] = '\0';
	if (rust_demangle(name, buf) ||
	    (strncmp(name, "_ZN", 3) == 0 && demangle_old_rust(name + 3, buf)))
		return name_clean(strcpy(name, buf), buf);
	if (name[0] != '_' || name[1] != 'Z')
		return name_clean(name, buf);
	demangle_fn *demangle = find_demangler();
	_cleanup_(freep) char *plain = demangle ? demangle(name, NULL, NULL, &status) : NULL;
	return name_clean(plain ? plain : name, buf);
}

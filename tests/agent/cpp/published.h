/* SPDX-License-Identifier: Apache-2.0 */
/*
 * published - the context of the calling thread, as a reader of OTEP 4947 sees it.
 *
 * Without the agent the variable does not exist and nothing is published, so that a
 * program can run with and without it.
 */
#ifndef SONDE_TESTS_AGENT_CPP_PUBLISHED_H
#define SONDE_TESTS_AGENT_CPP_PUBLISHED_H

#include <cstdio>
#include <cstdlib>
#include <string>

#include <dlfcn.h>

/* The published span in hexadecimal; "" for none, "?" if it is unknown. */
inline std::string published()
{
	auto *variable =
		static_cast<const unsigned char **>(dlsym(RTLD_DEFAULT, "otel_thread_ctx_v1"));
	const unsigned char *record = variable ? *variable : nullptr;
	char text[17] = "";

	if (!record)
		return "";
	if (!record[24])
		return "?";
	for (int i = 0; i < 8; i++)
		std::snprintf(text + 2 * i, 3, "%02x", record[16 + i]);
	return text;
}

inline bool has_agent()
{
	return dlsym(RTLD_DEFAULT, "sonde_agent_set_context") != nullptr;
}

/* The thread must publish this span with the agent, and nothing without it. */
inline void expect(const std::string &span, const char *where)
{
	std::string got = published(), want = has_agent() ? span : "";

	if (got == want)
		return;
	std::printf("%s: '%s' is published, want '%s'\n", where, got.c_str(), want.c_str());
	std::exit(1);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seen - what a reader of OTEP 4947 would see of the calling thread.
 *
 * Without the agent there is no such variable, and all answers are "nothing";
 * so the same program can run with and without.
 */
#ifndef SONDE_TESTS_AGENT_CPP_SEEN_H
#define SONDE_TESTS_AGENT_CPP_SEEN_H

#include <cstdio>
#include <cstdlib>
#include <string>

#include <dlfcn.h>

/* The span that the thread publishes, in hexadecimal; "" for none, "?" if it says that it does not
 * know. */
inline std::string seen()
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

/* With the agent the thread must publish this, and without it nothing. */
inline void expect(const std::string &span, const char *where)
{
	std::string got = seen(), want = has_agent() ? span : "";

	if (got == want)
		return;
	std::printf("%s: '%s' is published, want '%s'\n", where, got.c_str(), want.c_str());
	std::exit(1);
}

#endif

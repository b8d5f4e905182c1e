/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding - shared by the agent's hook and the binding for opentelemetry-cpp.
 *
 * The hook (agent/cpp_hook.c) is C code in every process.  The binding is C++, and is
 * loaded when a program creates its first tracer provider.
 */
#ifndef SONDE_AGENT_CPP_BINDING_H
#define SONDE_AGENT_CPP_BINDING_H

#define OTEL_CPP_LIBRARY "libopentelemetry_trace.so"
#define OTEL_CPP_BINDING "libsonde-agent-otel-cpp.so"
#define OTEL_CPP_FOLLOW "sonde_otel_cpp_follow"

/*
 * Called while a provider is created: insert our processor at the front of its
 * std::vector<std::unique_ptr<SpanProcessor>>, and follow the context of all threads.  Does nothing
 * if the SDK's version differs from the one that the binding was built for.
 */
typedef void otel_cpp_follow(void *processors, const void *resource);

#endif

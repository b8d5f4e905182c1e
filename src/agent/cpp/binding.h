/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding - what the agent's hook and the binding for opentelemetry-cpp share.
 *
 * The hook (agent/cpp_hook.c) is C and in every process; the binding is C++, and
 * loaded when a program makes its first tracer provider.
 */
#ifndef SONDE_AGENT_CPP_BINDING_H
#define SONDE_AGENT_CPP_BINDING_H

#define OTEL_CPP_LIBRARY "libopentelemetry_trace.so"
#define OTEL_CPP_BINDING "libsonde-agent-otel-cpp.so"
#define OTEL_CPP_FOLLOW "sonde_otel_cpp_follow"

/*
 * A provider is being made: put a processor of ours first in its
 * std::vector<std::unique_ptr<SpanProcessor>>, and follow the context of all threads.
 * Does nothing if the SDK is not of the version the binding was built for.
 */
typedef void otel_cpp_follow(void *processors, const void *resource);

#endif

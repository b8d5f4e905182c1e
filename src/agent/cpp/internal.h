/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal - the two parts of the binding for opentelemetry-cpp.
 *
 * *Spans*: a processor at the front of the provider's list is called right after a span
 * begins, and right before the other processors receive its end.
 * *Context*: hooks publish the current span of a thread whenever it changes.
 */
#ifndef SONDE_AGENT_CPP_INTERNAL_H
#define SONDE_AGENT_CPP_INTERNAL_H

#include <memory>

#include <opentelemetry/sdk/trace/processor.h>

std::unique_ptr<opentelemetry::sdk::trace::SpanProcessor> processor_new();

/* Publish each change of a thread's context from now on.  Can be called repeatedly. */
void context_follow() noexcept;

#endif

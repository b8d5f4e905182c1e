/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts - the two things that the binding for opentelemetry-cpp follows.
 *
 * *Spans*, by a processor that stands first in the provider's list: it sees each
 * span right after it began and right before others are told of its end.
 * *Context*, by a look at what is current on a thread whenever that changes.
 */
#ifndef SONDE_AGENT_CPP_INTERNAL_H
#define SONDE_AGENT_CPP_INTERNAL_H

#include <memory>

#include <opentelemetry/sdk/trace/processor.h>

std::unique_ptr<opentelemetry::sdk::trace::SpanProcessor> processor_new();

/* From now on each change of a thread's context is published; any number of times. */
void context_follow() noexcept;

#endif

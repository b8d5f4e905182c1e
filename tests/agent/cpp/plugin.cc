/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin - a library that a program without an SDK loads, and that brings it.
 *
 * gcc has the loader see to it that variables of headers are one in a process; clang does
 * not.  Then a library that is loaded for itself alone has a current context of its own,
 * which nobody else can find, the SDK's other users included.
 */
#include "seen.h"

#include <opentelemetry/sdk/trace/tracer_provider_factory.h>
#include <opentelemetry/trace/provider.h>
#include <opentelemetry/trace/scope.h>

namespace sdk = opentelemetry::sdk;
namespace trace = opentelemetry::trace;

extern "C" __attribute__((visibility("default"))) int plugin_run()
{
	auto provider = sdk::trace::TracerProviderFactory::Create(
		std::vector<std::unique_ptr<sdk::trace::SpanProcessor>>());
	auto span = provider->GetTracer("plugin")->StartSpan("plugin's");
	char text[16];

	span->GetContext().span_id().ToLowerBase16(text);
	{
		trace::Scope in(span);
#ifdef __clang__
		if (seen() != "")
#endif
			expect(std::string(text, sizeof(text)), "in a plugin");
	}
	expect("", "after a plugin's span");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin - a library with the SDK, loaded by a program without it.
 *
 * With gcc, the loader unifies inline variables of headers in a process; with clang it
 * does not.  Then a library loaded without RTLD_GLOBAL has a private current context,
 * invisible even to other users of the SDK.
 */
#include "published.h"

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
		if (published() != "")
#endif
			expect(std::string(text, sizeof(text)), "in a plugin");
	}
	expect("", "after a plugin's span");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding - the way into opentelemetry-cpp (see agent/cpp/binding.h).
 *
 * What we give to the SDK are objects with virtual functions, and what it gives
 * us has layouts; both are only right for the version that this was built for.
 * That is checked twice.  This library refers to functions of the SDK whose names
 * hold the version of the ABI and the types that a build of the SDK may replace
 * by others, so that it cannot be loaded beside a build that differs in them.  And the
 * SDK says its version in its default resource.
 *
 * Nothing here may throw into the program: then it has no binding, that is all.
 */
#include <string>
#include <vector>

#include <opentelemetry/nostd/variant.h>
#include <opentelemetry/sdk/resource/resource.h>
#include <opentelemetry/sdk/trace/tracer_provider.h>
#include <opentelemetry/sdk/version/version.h>

#include "agent/agent.h"
#include "agent/cpp/binding.h"
#include "agent/cpp/internal.h"

namespace nostd = opentelemetry::nostd;
namespace sdk = opentelemetry::sdk;

extern "C" SONDE_AGENT_API otel_cpp_follow sonde_otel_cpp_follow;

/* Never called: its arguments are string_views, those of the SDK or the standard library's. */
extern "C" SONDE_AGENT_API void sonde_otel_cpp_needs(sdk::trace::TracerProvider *provider)
{
	provider->TracerProvider::GetTracer("", "", "");
}

namespace
{
std::string text_of(const sdk::resource::Resource &resource, const char *key)
{
	const auto &attributes = resource.GetAttributes();
	auto found = attributes.find(key);
	auto *text =
		found != attributes.end() ? nostd::get_if<std::string>(&found->second) : nullptr;

	return text ? *text : "";
}

/* Corrections of a release do not change layouts: 1.19.0 and 1.19.1 are one. */
bool version_fits()
{
	std::string built = OPENTELEMETRY_SDK_VERSION;
	std::string found = text_of(sdk::resource::Resource::GetDefault(), "telemetry.sdk.version");
	size_t release = built.rfind('.') + 1;

	return found.compare(0, release, built, 0, release) == 0;
}

/* The SDK calls a program so that has not said its name: then the agent knows better. */
bool is_name(const std::string &service)
{
	return !service.empty() && service.rfind("unknown_service", 0) != 0;
}
} // namespace

void sonde_otel_cpp_follow(void *processors, const void *resource)
{
	using list = std::vector<std::unique_ptr<sdk::trace::SpanProcessor>>;

	try {
		if (!version_fits())
			return;
		std::string service = text_of(
			*static_cast<const sdk::resource::Resource *>(resource), "service.name");
		auto *all = static_cast<list *>(processors);

		all->insert(all->begin(), processor_new());
		context_follow();
		sonde_agent_is_recording(); /* so that it shows from outside that we fit */
		if (is_name(service))
			sonde_agent_set_service(service.c_str());
	} catch (...) {
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding - the entry point of the binding for opentelemetry-cpp (agent/cpp/binding.h).
 *
 * The binding and the SDK exchange objects with virtual functions and data layouts,
 * which are compatible only within one version of the SDK.  Two checks ensure that.
 * This library refers to functions of the SDK whose mangled names contain the ABI
 * version and the types that a build of the SDK may replace, so it cannot be loaded
 * with a build that differs in them.  And the SDK's default resource contains its
 * version.
 *
 * No exception may reach the program; on failure, the program runs without binding.
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

/* Never called: makes the library depend on the SDK's choice of string_view. */
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

/* Patch releases do not change layouts: 1.19.0 and 1.19.1 are compatible. */
bool version_fits()
{
	std::string built = OPENTELEMETRY_SDK_VERSION;
	std::string found = text_of(sdk::resource::Resource::GetDefault(), "telemetry.sdk.version");
	size_t release = built.rfind('.') + 1;

	return found.compare(0, release, built, 0, release) == 0;
}

/* Without a service name, the SDK uses "unknown_service"; the agent has a better default. */
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
		sonde_agent_is_recording(); /* creates the arena: it shows that the binding works */
		if (is_name(service))
			sonde_agent_set_service(service.c_str());
	} catch (...) {
	}
}

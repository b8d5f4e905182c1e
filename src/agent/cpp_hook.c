/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpp_hook - loads the binding for opentelemetry-cpp when a program creates its first
 * tracer provider.
 *
 * All ways to create a provider (TracerProvider, the factories, TracerContext itself)
 * lead to one constructor, which the SDK's library calls through its PLT.  A preloaded
 * library comes first in the lookup, so this file exports that constructor.  Ours lets
 * the binding insert a span processor into the list, then calls the SDK's constructor.
 *
 * This library is loaded into every process, and must not pull in the C++ runtime or the
 * SDK.  So the binding is a separate library, loaded here, when the SDK is known to be
 * present.  The mangled name of the constructor contains the types of its arguments and
 * the ABI version: an SDK that differs in them never calls this function, and is left
 * alone.  The same holds for a statically linked SDK, whose calls cannot be intercepted.
 *
 * All arguments are pointers, two of them to arguments that C++ passes by value with a
 * destructor (Itanium C++ ABI 3.1.2.3), and a constructor returns nothing; so C code
 * can forward them.
 */
#include <errno.h>
#include <link.h>

#include "agent/agent.h"
#include "agent/load_binding.h"
#include "agent/cpp/binding.h"

/* opentelemetry::v1::sdk::trace::TracerContext::TracerContext(...), mangled */
#define CONSTRUCTOR(which) \
	"_ZN13opentelemetry2v13sdk5trace13TracerContext" which \
	"EOSt6vectorISt10unique_ptrINS2_13SpanProcessorESt14default_deleteIS6_EESaIS9_EE" \
	"RKNS1_8resource8ResourceES5_INS2_7SamplerES7_ISH_EES5_INS2_11IdGeneratorES7_ISK_EE"
#define COMPLETE CONSTRUCTOR("C1") /* of a complete object */
#define BASE CONSTRUCTOR("C2")     /* of a base class subobject; the same function here */

typedef void constructor(void *self, void *processors, const void *resource, void *sampler,
			 void *id_generator);

SONDE_AGENT_API constructor tracer_context_init __asm__(COMPLETE);
SONDE_AGENT_API constructor tracer_context_init_base __asm__(BASE) __attribute__((alias(COMPLETE)));

/*
 * The constructor that the caller would have found without this library, in the loader's order: in
 * the libraries of the program, then in the caller's own libraries, which may be those of a plugin.
 * One of them defines it, otherwise the caller could not have been loaded.
 */
static constructor *constructor_find(const void *caller)
{
	constructor *found = (constructor *)dlsym(RTLD_NEXT, COMPLETE);
	struct link_map *map = NULL;
	Dl_info info;
	void *library;

	if (found || !dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return found;
	library = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		return NULL;
	found = (constructor *)dlsym(library, COMPLETE);
	dlclose(library); /* the caller keeps it loaded */
	return found;
}

/* Whether the constructor belongs to the library that the binding is linked with. */
static bool is_shared_sdk(constructor *sdk)
{
	struct link_map *map = NULL;
	Dl_info info;
	void *library = dlopen(OTEL_CPP_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);

	if (!library)
		return false;
	dlclose(library);
	return dladdr1((void *)sdk, &info, (void **)&map, RTLD_DL_LINKMAP) && map == library;
}

static otel_cpp_follow *load_follow(void)
{
	return (otel_cpp_follow *)binding_symbol("cpp/", OTEL_CPP_BINDING, OTEL_CPP_FOLLOW);
}

void tracer_context_init(void *self, void *processors, const void *resource, void *sampler,
			 void *id_generator)
{
	int saved = errno;
	constructor *sdk = constructor_find(__builtin_return_address(0));
	otel_cpp_follow *follow = is_shared_sdk(sdk) ? load_follow() : NULL;

	if (follow)
		follow(processors, resource);
	else
		dlerror(); /* hide our error from the program */
	errno = saved;
	sdk(self, processors, resource, sampler, id_generator);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpp_hook - notices when a program makes a tracer provider of opentelemetry-cpp.
 *
 * All ways to make one (TracerProvider, the factories, TracerContext itself)
 * lead to one constructor, which the SDK's library calls through its table of
 * foreign functions.  A preloaded library comes first there, so this file
 * exports that constructor.  Ours has the binding put a span processor into
 * the list, then calls the SDK's own.
 *
 * This library is in every process, and must not bring the C++ runtime or the
 * SDK into one that has none.  So the binding is a library of its own, loaded
 * here, when the SDK has just proved to be there.  The constructor's mangled
 * name carries the types of all its arguments and the version of the ABI: an SDK that
 * differs in them never calls this one, and is left alone.  So is one that is
 * linked statically: its calls cannot be seen.
 *
 * All arguments are pointers, two of them to what C++ passes "by value" with a
 * destructor (Itanium C++ ABI 3.1.2.3), and a constructor returns nothing; so
 * C can take them and pass them on.
 */
#include <errno.h>
#include <link.h>

#include "agent/agent.h"
#include "agent/load_binding.h"
#include "agent/cpp/binding.h"

/* opentelemetry::v1::sdk::trace::TracerContext::TracerContext(...), as it is mangled */
#define CONSTRUCTOR(which) \
	"_ZN13opentelemetry2v13sdk5trace13TracerContext" which \
	"EOSt6vectorISt10unique_ptrINS2_13SpanProcessorESt14default_deleteIS6_EESaIS9_EE" \
	"RKNS1_8resource8ResourceES5_INS2_7SamplerES7_ISH_EES5_INS2_11IdGeneratorES7_ISK_EE"
#define COMPLETE CONSTRUCTOR("C1") /* of a whole object */
#define BASE CONSTRUCTOR("C2")     /* of the part of a derived class; the same thing here */

typedef void constructor(void *self, void *processors, const void *resource, void *sampler,
			 void *id_generator);

SONDE_AGENT_API constructor tracer_context_init __asm__(COMPLETE);
SONDE_AGENT_API constructor tracer_context_init_base __asm__(BASE) __attribute__((alias(COMPLETE)));

/*
 * The constructor that the caller would have found without us, in the loader's
 * order: what the program was started with, then the caller's own libraries, which
 * may be those of a plugin.  One of them has it, or the caller had not been loaded.
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
	dlclose(library); /* the caller is in it: it stays */
	return found;
}

/* Whether the constructor is of the library that the binding is linked with. */
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

static otel_cpp_follow *binding_load(void)
{
	return (otel_cpp_follow *)binding_function("cpp/", OTEL_CPP_BINDING, OTEL_CPP_FOLLOW);
}

void tracer_context_init(void *self, void *processors, const void *resource, void *sampler,
			 void *id_generator)
{
	int saved = errno;
	constructor *sdk = constructor_find(__builtin_return_address(0));
	otel_cpp_follow *follow = is_shared_sdk(sdk) ? binding_load() : NULL;

	if (follow)
		follow(processors, resource);
	else
		dlerror(); /* ours is nobody's business */
	errno = saved;
	sdk(self, processors, resource, sampler, id_generator);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * other_sdk - a library with a statically linked SDK, as far as the agent can tell: it
 * defines the constructor that the agent intercepts.  The library's own constructor must
 * be called with its own arguments, and the binding must not be loaded: the layouts may
 * differ.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default"), noinline))
#define CONSTRUCTOR \
	"_ZN13opentelemetry2v13sdk5trace13TracerContextC1EOSt6vectorISt10unique_ptrINS2_13Span" \
	"ProcessorESt14default_deleteIS6_EESaIS9_EERKNS1_8resource8ResourceES5_INS2_7Sampler" \
	"ES7_ISH_EES5_INS2_11IdGeneratorES7_ISK_EE"

PUBLIC void construct(void *self, void *processors, const void *resource, void *sampler,
		      void *ids) __asm__(CONSTRUCTOR);
PUBLIC int plugin_run(void);

static int objects[5];
static bool is_right;

void construct(void *self, void *processors, const void *resource, void *sampler, void *ids)
{
	is_right = self == &objects[0] && processors == &objects[1] && resource == &objects[2] &&
		   sampler == &objects[3] && ids == &objects[4];
}

static bool has_binding(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096];
	bool found = false;

	while (maps && fgets(line, sizeof(line), maps))
		found = found || strstr(line, "libsonde-agent-otel-cpp");
	if (maps)
		fclose(maps);
	return found;
}

int plugin_run(void)
{
	construct(&objects[0], &objects[1], &objects[2], &objects[3], &objects[4]);
	return !is_right || has_binding();
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "record/kernel/feature.h"

#include <sys/resource.h>

#include "build.h"
#include "test.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif

static const struct feature *find(const struct feature *features, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(features[i].name, name) == 0)
			return &features[i];
	return NULL;
}

/* With a low 'ulimit -v', this program fits into memory but the kernel's types do not. */
static void probe_in_little_space(void)
{
	struct feature features[FEATURE_MAX];
	struct rlimit limit = { 0 };
	unsigned long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "re");

	CHECK(statm && fscanf(statm, "%lu", &pages) == 1);
	limit.rlim_cur = limit.rlim_max = pages * 4096 + (2 << 20);
	CHECK_INT(setrlimit(RLIMIT_AS, &limit), 0);

	size_t count = features_probe(features);
	const struct feature *btf = find(features, count, "btf");
	const struct feature *scheduler = find(features, count, "scheduler");

	CHECK(!btf->ok && !scheduler->ok);
	CHECK(strstr(btf->why, "not enough memory or address space") != NULL);
	CHECK_STR(btf->remedy, "");
	CHECK(strstr(scheduler->why, "unknown") != NULL);
	CHECK_STR(scheduler->remedy, "");
}

TEST(a_limit_on_address_space_is_not_reported_as_a_kernel_without_types)
{
#ifdef HAS_ASAN
	SKIP("AddressSanitizer ends the program when memory runs out");
#endif
	if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		SKIP("this kernel has no type information");
	in_child(probe_in_little_space);
}

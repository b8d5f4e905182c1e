/* SPDX-License-Identifier: Apache-2.0 */
/* The span events of the agent, as events of LTTng-UST. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER sonde_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./agent_lttng.h"

#if !defined(SONDE_BENCH_AGENT_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SONDE_BENCH_AGENT_LTTNG_H

#include <stdint.h>
#include <lttng/tracepoint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(sonde_bench, begin,
	LTTNG_UST_TP_ARGS(const uint8_t *, trace, uint64_t, span, uint64_t, parent, const char *, name),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_array_hex(uint8_t, trace, trace, 16)
		lttng_ust_field_integer_hex(uint64_t, span, span)
		lttng_ust_field_integer_hex(uint64_t, parent, parent)
		lttng_ust_field_string(name, name)))

LTTNG_UST_TRACEPOINT_EVENT(sonde_bench, end,
	LTTNG_UST_TP_ARGS(const uint8_t *, trace, uint64_t, span),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_array_hex(uint8_t, trace, trace, 16)
		lttng_ust_field_integer_hex(uint64_t, span, span)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>

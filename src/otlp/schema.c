/* SPDX-License-Identifier: Apache-2.0 */
#include "otlp/schema.h"

/*
 * A field; a list of messages, strings or numbers; a field of which a zero differs from a missing
 * one.
 */
#define FIELD(json, kind, ...) \
	{ .name = json, .name_length = sizeof(json) - 1, .type = SCHEMA_##kind, __VA_ARGS__ }
#define ID(json, size) FIELD(json, ID, .id_size = size)
#define ENUM(json, values) FIELD(json, ENUM, .names = values)
#define MESSAGE(json, type) FIELD(json, MESSAGE, .message = &type)
#define LIST(json, kind) FIELD(json, kind, .is_list = true)
#define MESSAGES(json, type) FIELD(json, MESSAGE, .is_list = true, .message = &type)
#define ONE_OF(json, kind, ...) FIELD(json, kind, .has_presence = true, __VA_ARGS__)

/* Defines a message; `more` are its other properties. */
#define DEFINE(id, proto_name, table, ...) \
	static const struct schema_message id = { \
		.name = proto_name, .fields = table, .count = ARRAY_LEN(table), __VA_ARGS__ \
	}

/* common.proto and resource.proto */

static const struct schema_message any_value, key_value;

static const struct schema_field array_value_fields[] = { [1] = MESSAGES("values", any_value) };
DEFINE(array_value, "ArrayValue", array_value_fields);

static const struct schema_field key_value_list_fields[] = { [1] = MESSAGES("values", key_value) };
DEFINE(key_value_list, "KeyValueList", key_value_list_fields);

static const struct schema_field any_value_fields[] = {
	[1] = ONE_OF("stringValue", STRING),
	[2] = ONE_OF("boolValue", BOOL),
	[3] = ONE_OF("intValue", INT64),
	[4] = ONE_OF("doubleValue", DOUBLE),
	[5] = ONE_OF("arrayValue", MESSAGE, .message = &array_value),
	[6] = ONE_OF("kvlistValue", MESSAGE, .message = &key_value_list),
	[7] = ONE_OF("bytesValue", BYTES),
	[8] = ONE_OF("stringValueStrindex", INT32),
};
DEFINE(any_value, "AnyValue", any_value_fields, .is_value = true);

static const struct schema_field key_value_fields[] = {
	[1] = FIELD("key", STRING),
	[2] = MESSAGE("value", any_value),
	[3] = FIELD("keyStrindex", INT32),
};
DEFINE(key_value, "KeyValue", key_value_fields);

static const struct schema_field scope_fields[] = {
	[1] = FIELD("name", STRING),
	[2] = FIELD("version", STRING),
	[3] = MESSAGES("attributes", key_value),
	[4] = FIELD("droppedAttributesCount", UINT32),
};
DEFINE(scope, "InstrumentationScope", scope_fields);

static const struct schema_field entity_ref_fields[] = {
	[1] = FIELD("schemaUrl", STRING),
	[2] = FIELD("type", STRING),
	[3] = LIST("idKeys", STRING),
	[4] = LIST("descriptionKeys", STRING),
};
DEFINE(entity_ref, "EntityRef", entity_ref_fields);

static const struct schema_field resource_fields[] = {
	[1] = MESSAGES("attributes", key_value),
	[2] = FIELD("droppedAttributesCount", UINT32),
	[3] = MESSAGES("entityRefs", entity_ref),
};
DEFINE(resource, "Resource", resource_fields);

/* trace.proto */

static const char *const span_kinds[] = {
	"SPAN_KIND_UNSPECIFIED",
	"SPAN_KIND_INTERNAL",
	"SPAN_KIND_SERVER",
	"SPAN_KIND_CLIENT",
	"SPAN_KIND_PRODUCER",
	"SPAN_KIND_CONSUMER",
	NULL,
};

static const char *const status_codes[] = {
	"STATUS_CODE_UNSET",
	"STATUS_CODE_OK",
	"STATUS_CODE_ERROR",
	NULL,
};

static const struct schema_field event_fields[] = {
	[1] = FIELD("timeUnixNano", FIXED64),
	[2] = FIELD("name", STRING),
	[3] = MESSAGES("attributes", key_value),
	[4] = FIELD("droppedAttributesCount", UINT32),
};
DEFINE(event, "Span.Event", event_fields);

static const struct schema_field link_fields[] = {
	[1] = ID("traceId", 16),
	[2] = ID("spanId", 8),
	[3] = FIELD("traceState", STRING),
	[4] = MESSAGES("attributes", key_value),
	[5] = FIELD("droppedAttributesCount", UINT32),
	[6] = FIELD("flags", FIXED32),
};
DEFINE(span_link, "Span.Link", link_fields);

static const struct schema_field status_fields[] = {
	[2] = FIELD("message", STRING),
	[3] = ENUM("code", status_codes),
};
DEFINE(status, "Status", status_fields);

static const struct schema_field span_fields[] = {
	[1] = ID("traceId", 16),
	[2] = ID("spanId", 8),
	[3] = FIELD("traceState", STRING),
	[4] = ID("parentSpanId", 8),
	[5] = FIELD("name", STRING),
	[6] = ENUM("kind", span_kinds),
	[7] = FIELD("startTimeUnixNano", FIXED64),
	[8] = FIELD("endTimeUnixNano", FIXED64),
	[9] = MESSAGES("attributes", key_value),
	[10] = FIELD("droppedAttributesCount", UINT32),
	[11] = MESSAGES("events", event),
	[12] = FIELD("droppedEventsCount", UINT32),
	[13] = MESSAGES("links", span_link),
	[14] = FIELD("droppedLinksCount", UINT32),
	[15] = MESSAGE("status", status),
	[16] = FIELD("flags", FIXED32),
};
DEFINE(span, "Span", span_fields, .is_item = true);

static const struct schema_field scope_spans_fields[] = {
	[1] = MESSAGE("scope", scope),
	[2] = MESSAGES("spans", span),
	[3] = FIELD("schemaUrl", STRING),
};
DEFINE(scope_spans, "ScopeSpans", scope_spans_fields);

static const struct schema_field resource_spans_fields[] = {
	[1] = MESSAGE("resource", resource),
	[2] = MESSAGES("scopeSpans", scope_spans),
	[3] = FIELD("schemaUrl", STRING),
};
DEFINE(resource_spans, "ResourceSpans", resource_spans_fields);

static const struct schema_field traces_fields[] = {
	[1] = MESSAGES("resourceSpans", resource_spans),
};
DEFINE(traces, "ExportTraceServiceRequest", traces_fields);

/* metrics.proto */

static const char *const temporalities[] = {
	"AGGREGATION_TEMPORALITY_UNSPECIFIED",
	"AGGREGATION_TEMPORALITY_DELTA",
	"AGGREGATION_TEMPORALITY_CUMULATIVE",
	NULL,
};

static const struct schema_field exemplar_fields[] = {
	[2] = FIELD("timeUnixNano", FIXED64),
	[3] = ONE_OF("asDouble", DOUBLE),
	[4] = ID("spanId", 8),
	[5] = ID("traceId", 16),
	[6] = ONE_OF("asInt", SFIXED64),
	[7] = MESSAGES("filteredAttributes", key_value),
};
DEFINE(exemplar, "Exemplar", exemplar_fields);

static const struct schema_field number_point_fields[] = {
	[2] = FIELD("startTimeUnixNano", FIXED64),
	[3] = FIELD("timeUnixNano", FIXED64),
	[4] = ONE_OF("asDouble", DOUBLE),
	[5] = MESSAGES("exemplars", exemplar),
	[6] = ONE_OF("asInt", SFIXED64),
	[7] = MESSAGES("attributes", key_value),
	[8] = FIELD("flags", UINT32),
};
DEFINE(number_point, "NumberDataPoint", number_point_fields, .is_item = true);

static const struct schema_field histogram_point_fields[] = {
	[2] = FIELD("startTimeUnixNano", FIXED64),
	[3] = FIELD("timeUnixNano", FIXED64),
	[4] = FIELD("count", FIXED64),
	[5] = ONE_OF("sum", DOUBLE),
	[6] = LIST("bucketCounts", FIXED64),
	[7] = LIST("explicitBounds", DOUBLE),
	[8] = MESSAGES("exemplars", exemplar),
	[9] = MESSAGES("attributes", key_value),
	[10] = FIELD("flags", UINT32),
	[11] = ONE_OF("min", DOUBLE),
	[12] = ONE_OF("max", DOUBLE),
};
DEFINE(histogram_point, "HistogramDataPoint", histogram_point_fields, .is_item = true);

static const struct schema_field buckets_fields[] = {
	[1] = FIELD("offset", SINT32),
	[2] = LIST("bucketCounts", UINT64),
};
DEFINE(buckets, "ExponentialHistogramDataPoint.Buckets", buckets_fields);

static const struct schema_field exponential_point_fields[] = {
	[1] = MESSAGES("attributes", key_value),
	[2] = FIELD("startTimeUnixNano", FIXED64),
	[3] = FIELD("timeUnixNano", FIXED64),
	[4] = FIELD("count", FIXED64),
	[5] = ONE_OF("sum", DOUBLE),
	[6] = FIELD("scale", SINT32),
	[7] = FIELD("zeroCount", FIXED64),
	[8] = MESSAGE("positive", buckets),
	[9] = MESSAGE("negative", buckets),
	[10] = FIELD("flags", UINT32),
	[11] = MESSAGES("exemplars", exemplar),
	[12] = ONE_OF("min", DOUBLE),
	[13] = ONE_OF("max", DOUBLE),
	[14] = FIELD("zeroThreshold", DOUBLE),
};
DEFINE(exponential_point, "ExponentialHistogramDataPoint", exponential_point_fields,
       .is_item = true);

static const struct schema_field value_at_quantile_fields[] = {
	[1] = FIELD("quantile", DOUBLE),
	[2] = FIELD("value", DOUBLE),
};
DEFINE(value_at_quantile, "SummaryDataPoint.ValueAtQuantile", value_at_quantile_fields);

static const struct schema_field summary_point_fields[] = {
	[2] = FIELD("startTimeUnixNano", FIXED64),
	[3] = FIELD("timeUnixNano", FIXED64),
	[4] = FIELD("count", FIXED64),
	[5] = FIELD("sum", DOUBLE),
	[6] = MESSAGES("quantileValues", value_at_quantile),
	[7] = MESSAGES("attributes", key_value),
	[8] = FIELD("flags", UINT32),
};
DEFINE(summary_point, "SummaryDataPoint", summary_point_fields, .is_item = true);

static const struct schema_field gauge_fields[] = {
	[1] = MESSAGES("dataPoints", number_point),
};
DEFINE(gauge, "Gauge", gauge_fields);

static const struct schema_field sum_fields[] = {
	[1] = MESSAGES("dataPoints", number_point),
	[2] = ENUM("aggregationTemporality", temporalities),
	[3] = FIELD("isMonotonic", BOOL),
};
DEFINE(sum, "Sum", sum_fields);

static const struct schema_field histogram_fields[] = {
	[1] = MESSAGES("dataPoints", histogram_point),
	[2] = ENUM("aggregationTemporality", temporalities),
};
DEFINE(histogram, "Histogram", histogram_fields);

static const struct schema_field exponential_histogram_fields[] = {
	[1] = MESSAGES("dataPoints", exponential_point),
	[2] = ENUM("aggregationTemporality", temporalities),
};
DEFINE(exponential_histogram, "ExponentialHistogram", exponential_histogram_fields);

static const struct schema_field summary_fields[] = {
	[1] = MESSAGES("dataPoints", summary_point),
};
DEFINE(summary, "Summary", summary_fields);

static const struct schema_field metric_fields[] = {
	[1] = FIELD("name", STRING),
	[2] = FIELD("description", STRING),
	[3] = FIELD("unit", STRING),
	[5] = ONE_OF("gauge", MESSAGE, .message = &gauge),
	[7] = ONE_OF("sum", MESSAGE, .message = &sum),
	[9] = ONE_OF("histogram", MESSAGE, .message = &histogram),
	[10] = ONE_OF("exponentialHistogram", MESSAGE, .message = &exponential_histogram),
	[11] = ONE_OF("summary", MESSAGE, .message = &summary),
	[12] = MESSAGES("metadata", key_value),
};
DEFINE(metric, "Metric", metric_fields);

static const struct schema_field scope_metrics_fields[] = {
	[1] = MESSAGE("scope", scope),
	[2] = MESSAGES("metrics", metric),
	[3] = FIELD("schemaUrl", STRING),
};
DEFINE(scope_metrics, "ScopeMetrics", scope_metrics_fields);

static const struct schema_field resource_metrics_fields[] = {
	[1] = MESSAGE("resource", resource),
	[2] = MESSAGES("scopeMetrics", scope_metrics),
	[3] = FIELD("schemaUrl", STRING),
};
DEFINE(resource_metrics, "ResourceMetrics", resource_metrics_fields);

static const struct schema_field metrics_fields[] = {
	[1] = MESSAGES("resourceMetrics", resource_metrics),
};
DEFINE(metrics, "ExportMetricsServiceRequest", metrics_fields);

/* logs.proto */

static const char *const severities[] = {
	"SEVERITY_NUMBER_UNSPECIFIED", "SEVERITY_NUMBER_TRACE",
	"SEVERITY_NUMBER_TRACE2",      "SEVERITY_NUMBER_TRACE3",
	"SEVERITY_NUMBER_TRACE4",      "SEVERITY_NUMBER_DEBUG",
	"SEVERITY_NUMBER_DEBUG2",      "SEVERITY_NUMBER_DEBUG3",
	"SEVERITY_NUMBER_DEBUG4",      "SEVERITY_NUMBER_INFO",
	"SEVERITY_NUMBER_INFO2",       "SEVERITY_NUMBER_INFO3",
	"SEVERITY_NUMBER_INFO4",       "SEVERITY_NUMBER_WARN",
	"SEVERITY_NUMBER_WARN2",       "SEVERITY_NUMBER_WARN3",
	"SEVERITY_NUMBER_WARN4",       "SEVERITY_NUMBER_ERROR",
	"SEVERITY_NUMBER_ERROR2",      "SEVERITY_NUMBER_ERROR3",
	"SEVERITY_NUMBER_ERROR4",      "SEVERITY_NUMBER_FATAL",
	"SEVERITY_NUMBER_FATAL2",      "SEVERITY_NUMBER_FATAL3",
	"SEVERITY_NUMBER_FATAL4",      NULL,
};

static const struct schema_field log_record_fields[] = {
	[1] = FIELD("timeUnixNano", FIXED64),
	[2] = ENUM("severityNumber", severities),
	[3] = FIELD("severityText", STRING),
	[5] = MESSAGE("body", any_value),
	[6] = MESSAGES("attributes", key_value),
	[7] = FIELD("droppedAttributesCount", UINT32),
	[8] = FIELD("flags", FIXED32),
	[9] = ID("traceId", 16),
	[10] = ID("spanId", 8),
	[11] = FIELD("observedTimeUnixNano", FIXED64),
	[12] = FIELD("eventName", STRING),
};
DEFINE(log_record, "LogRecord", log_record_fields, .is_item = true);

static const struct schema_field scope_logs_fields[] = {
	[1] = MESSAGE("scope", scope),
	[2] = MESSAGES("logRecords", log_record),
	[3] = FIELD("schemaUrl", STRING),
};
DEFINE(scope_logs, "ScopeLogs", scope_logs_fields);

static const struct schema_field resource_logs_fields[] = {
	[1] = MESSAGE("resource", resource),
	[2] = MESSAGES("scopeLogs", scope_logs),
	[3] = FIELD("schemaUrl", STRING),
};
DEFINE(resource_logs, "ResourceLogs", resource_logs_fields);

static const struct schema_field logs_fields[] = {
	[1] = MESSAGES("resourceLogs", resource_logs),
};
DEFINE(logs, "ExportLogsServiceRequest", logs_fields);

const struct schema_message *const otlp_requests[OTLP_SIGNAL_COUNT] = {
	[OTLP_TRACES] = &traces,
	[OTLP_METRICS] = &metrics,
	[OTLP_LOGS] = &logs,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "read/ctf/babeltrace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/mapping.h"
#include "base/vec.h"
#include "read/ctf/ctf.h"
#include "read/ctf/babeltrace_field.h"
#include "read/ctf/bind.h"

/* An event class of libbabeltrace2. */
struct event_type {
	const char *name; /* borrowed */
	const struct raw_layout *layout;
	struct raw_event blank;
};

struct babeltrace {
	struct raw_source source;
	bt_graph *graph;
	struct mapping_guard *guard;   /* the library maps the files of the trace */
	bt_message_iterator *iterator; /* borrowed from the graph's sink */
	bt_message_array_const messages;
	uint64_t count, at; /* messages in the array; index of the current one */
	bool ended;
	char *host;
	enum raw_dialect dialect;
	struct map type_numbers; /* event class -> index in types + 1 */
	VEC(struct event_type) types;
	const bt_event *event; /* last event; borrowed from its message */
};

static bt_graph_simple_sink_component_initialize_func_status
sink_begin(bt_message_iterator *iterator, void *arg)
{
	struct babeltrace *b = arg;

	b->iterator = iterator;
	return BT_GRAPH_SIMPLE_SINK_COMPONENT_INITIALIZE_FUNC_STATUS_OK;
}

static bt_graph_simple_sink_component_consume_func_status
sink_consume(bt_message_iterator *iterator, void *arg)
{
	struct babeltrace *b = arg;

	b->at = b->count = 0;
	return (int)bt_message_iterator_next(iterator, &b->messages, &b->count);
}

/* Reports the innermost cause, which is the most specific. */
static int fail(struct err *err, const char *path)
{
	const bt_error *error = bt_current_thread_take_error();
	uint64_t count = error ? bt_error_get_cause_count(error) : 0;

	err_set(err, -EBADMSG, "libbabeltrace2 cannot read '%s': %s", path,
		count ? bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0))
		      : "unknown error");
	if (error)
		bt_error_release(error);
	return -EBADMSG;
}

static void release(struct babeltrace *b)
{
	for (; b->at < b->count; b->at++)
		bt_message_put_ref(b->messages[b->at]);
}

/* The next message, valid until the next call; NULL at the end. */
static int next_message(struct babeltrace *b, const bt_message **ret, struct err *err)
{
	*ret = NULL;
	if (b->at < b->count)
		bt_message_put_ref(b->messages[b->at++]);
	while (b->at == b->count && !b->ended) {
		bt_graph_run_once_status status = bt_graph_run_once(b->graph);

		if (status == BT_GRAPH_RUN_ONCE_STATUS_END)
			b->ended = true;
		else if (status != BT_GRAPH_RUN_ONCE_STATUS_OK)
			return fail(err, "the trace");
	}
	if (b->at < b->count)
		*ret = b->messages[b->at];
	return 0;
}

static struct event_type *type_of(struct babeltrace *b, const bt_event_class *class)
{
	uint64_t *number = map_insert(&b->type_numbers, (uintptr_t)class);

	if (!*number) {
		const char *name = bt_event_class_get_name(class) ?: "";
		struct event_type *type = vec_push(&b->types);
		int nr;

		type->name = name;
		type->layout = raw_layout_find(b->dialect, name, strlen(name), &nr);
		type->blank = raw_event_empty(type->layout ? type->layout->kind : RAW_OTHER);
		type->blank.type = b->types.count - 1;
		if (type->layout && nr != SYSCALL_NONE)
			type->blank.syscall.nr = nr;
		*number = b->types.count;
	}
	return &b->types.items[*number - 1];
}

static nsec_t time_of(const struct babeltrace *b, const bt_clock_snapshot *snapshot)
{
	int64_t ns = 0;

	if (snapshot)
		bt_clock_snapshot_get_ns_from_origin(snapshot, &ns);
	return (uint64_t)ns - (uint64_t)b->source.realtime_offset;
}

static void decode_arguments(const bt_field *fields, struct raw_event *ret)
{
	const bt_field_class *class = bt_field_borrow_class_const(fields);
	uint64_t members = bt_field_class_structure_get_member_count(class);
	unsigned count = 0;

	for (uint64_t i = 0; i < members && count < 3; i++) {
		const char *name = bt_field_class_structure_member_get_name(
			bt_field_class_structure_borrow_member_by_index_const(class, i));

		if (name[0] != '_' &&
		    ctf_bt_number(bt_field_structure_borrow_member_field_by_index_const(fields, i),
				  &ret->syscall.args[count]))
			count++;
	}
}

static void decode_event(struct babeltrace *b, const bt_message *message, struct raw_event *ret)
{
	const bt_event *event = bt_message_event_borrow_event_const(message);
	const struct event_type *type = type_of(b, bt_event_borrow_class_const(event));
	const bt_field *payload = bt_event_borrow_payload_field_const(event);
	const bt_packet *packet = bt_event_borrow_packet_const(event);
	const bt_field *context = packet ? bt_packet_borrow_context_field_const(packet) : NULL;
	const struct raw_layout *layout = type->layout;

	b->event = event;
	*ret = type->blank;
	ret->time = time_of(b, bt_message_event_borrow_default_clock_snapshot_const(message));
	for (size_t i = 0; i < CTF_CONTEXT_FIELDS; i++) {
		const struct raw_field *field = &ctf_context_fields[i];

		if (field->offset == offsetof(struct raw_event, cpu))
			ctf_bt_copy(context, field, ret);
		ctf_bt_copy(bt_event_borrow_common_context_field_const(event), field, ret);
		ctf_bt_copy(bt_event_borrow_specific_context_field_const(event), field, ret);
		if (b->dialect == RAW_KERNEL)
			ctf_bt_copy(payload, &ctf_perf_fields[i], ret);
	}
	for (size_t i = 0; layout && i < RAW_FIELDS && layout->fields[i].names; i++)
		ctf_bt_copy(payload, &layout->fields[i], ret);
	if (layout && ret->kind == RAW_SYSCALL_ENTER && ret->syscall.nr != SYSCALL_NONE && payload)
		decode_arguments(payload, ret);
}

static void set_lost_range(const struct babeltrace *b, struct raw_event *e,
			   const bt_clock_snapshot *start, const bt_clock_snapshot *end)
{
	nsec_t from = time_of(b, start);

	e->time = time_of(b, end);
	e->lost.start = from < e->time ? from : e->time;
}

static void decode_loss(struct babeltrace *b, const bt_message *message, struct raw_event *ret)
{
	*ret = raw_event_empty(RAW_LOST);
	b->event = NULL;
	if (bt_message_discarded_events_get_count(message, &ret->lost.count) !=
	    BT_PROPERTY_AVAILABILITY_AVAILABLE)
		ret->lost.count = 1;
	set_lost_range(
		b, ret,
		bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const(message),
		bt_message_discarded_events_borrow_end_default_clock_snapshot_const(message));
}

static void decode_packet_loss(struct babeltrace *b, const bt_message *message,
			       struct raw_event *ret)
{
	*ret = raw_event_empty(RAW_LOST);
	b->event = NULL;
	if (bt_message_discarded_packets_get_count(message, &ret->lost.packets) !=
	    BT_PROPERTY_AVAILABILITY_AVAILABLE)
		ret->lost.packets = 1;
	set_lost_range(
		b, ret,
		bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const(message),
		bt_message_discarded_packets_borrow_end_default_clock_snapshot_const(message));
}

static int babeltrace_next(struct raw_source *source, struct raw_event *ret, struct err *err)
{
	struct babeltrace *b = (struct babeltrace *)source;
	const bt_message *message;
	int code;

	while ((code = next_message(b, &message, err)) == 0 && message) {
		bt_message_type type = bt_message_get_type(message);

		if (type == BT_MESSAGE_TYPE_EVENT)
			decode_event(b, message, ret);
		else if (type == BT_MESSAGE_TYPE_DISCARDED_EVENTS)
			decode_loss(b, message, ret);
		else if (type == BT_MESSAGE_TYPE_DISCARDED_PACKETS)
			decode_packet_loss(b, message, ret);
		else
			continue;
		return 1;
	}
	return code;
}

static const char *babeltrace_name(struct raw_source *source)
{
	struct babeltrace *b = (struct babeltrace *)source;

	return b->event ? type_of(b, bt_event_borrow_class_const(b->event))->name : "";
}

static const char *babeltrace_type_name(struct raw_source *source, uint32_t type)
{
	struct babeltrace *b = (struct babeltrace *)source;

	return type < b->types.count ? b->types.items[type].name : "";
}

static void babeltrace_fields(struct raw_source *source, const struct raw_visitor *visitor,
			      void *arg)
{
	struct babeltrace *b = (struct babeltrace *)source;
	const bt_packet *packet = b->event ? bt_event_borrow_packet_const(b->event) : NULL;

	if (!b->event)
		return;

	const struct {
		const bt_field *field;
		const char *name;
	} groups[] = {
		{ packet ? bt_packet_borrow_context_field_const(packet) : NULL,
		  "stream.packet.context" },
		{ bt_event_borrow_common_context_field_const(b->event), "stream.event.context" },
		{ bt_event_borrow_specific_context_field_const(b->event), "event.context" },
		{ bt_event_borrow_payload_field_const(b->event), "event.fields" },
	};

	for (size_t i = 0; i < ARRAY_LEN(groups); i++)
		if (groups[i].field)
			ctf_bt_visit(groups[i].field, groups[i].name, visitor, arg);
}

static void babeltrace_free(struct raw_source *source)
{
	struct babeltrace *b = (struct babeltrace *)source;

	release(b);
	bt_graph_put_ref(b->graph);
	mapping_guard_free(b->guard);
	map_done(&b->type_numbers);
	vec_done(&b->types);
	free(b->host);
	free(b->source.warning);
	free(b);
}

static const bt_component_class_source *find_source(void)
{
	const bt_plugin *plugin = NULL;

	if (bt_plugin_find("ctf", BT_TRUE, BT_TRUE, BT_TRUE, BT_FALSE, BT_FALSE, &plugin) !=
	    BT_PLUGIN_FIND_STATUS_OK)
		return NULL;

	const bt_component_class_source *class =
		bt_plugin_borrow_source_component_class_by_name_const(plugin, "fs");

	bt_component_class_get_ref(bt_component_class_source_as_component_class_const(class));
	bt_plugin_put_ref(plugin);
	return class;
}

static const bt_component_class_filter *find_muxer(void)
{
	const bt_plugin *plugin = NULL;

	if (bt_plugin_find("utils", BT_TRUE, BT_TRUE, BT_TRUE, BT_FALSE, BT_FALSE, &plugin) !=
	    BT_PLUGIN_FIND_STATUS_OK)
		return NULL;

	const bt_component_class_filter *class =
		bt_plugin_borrow_filter_component_class_by_name_const(plugin, "muxer");

	bt_component_class_get_ref(bt_component_class_filter_as_component_class_const(class));
	bt_plugin_put_ref(plugin);
	return class;
}

/* The muxer always has one free port, the last. */
static bool connect_source(bt_graph *graph, const bt_component_source *source,
			   const bt_component_filter *muxer)
{
	uint64_t count = bt_component_source_get_output_port_count(source);

	for (uint64_t i = 0; i < count; i++) {
		uint64_t last = bt_component_filter_get_input_port_count(muxer) - 1;

		if (bt_graph_connect_ports(
			    graph, bt_component_source_borrow_output_port_by_index_const(source, i),
			    bt_component_filter_borrow_input_port_by_index_const(muxer, last),
			    NULL) != BT_GRAPH_CONNECT_PORTS_STATUS_OK)
			return false;
	}
	return true;
}

static bool add_source(struct babeltrace *b, const bt_component_class_source *class,
		       const bt_component_filter *muxer, const char *directory, unsigned number)
{
	bt_value *params = bt_value_map_create(), *inputs = NULL;
	const bt_component_source *source = NULL;
	char name[32];

	snprintf(name, sizeof(name), "trace %u", number);

	bool is_good =
		params &&
		bt_value_map_insert_empty_array_entry(params, "inputs", &inputs) ==
			BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK &&
		bt_value_array_append_string_element(inputs, directory) ==
			BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK &&
		bt_graph_add_source_component(b->graph, class, name, params, BT_LOGGING_LEVEL_NONE,
					      &source) == BT_GRAPH_ADD_COMPONENT_STATUS_OK &&
		connect_source(b->graph, source, muxer);

	bt_value_put_ref(params);
	return is_good;
}

/* Adds one source component per trace. */
static bool add_sources(struct babeltrace *b, const char *path,
			const bt_component_class_source *class, const bt_component_filter *muxer)
{
	_cleanup_(file_set_done) struct file_set files = { 0 };
	unsigned number = 0;
	struct err err;

	if (!class || ctf_find_traces(path, &files, &err) < 0)
		return false;
	for (size_t i = 0; i < files.items.count; i++) {
		_cleanup_(freep) char *name = must_strdup(files.items.items[i].name);
		char *slash = strrchr(name, '/');

		if (!slash || strcmp(slash, "/metadata") != 0)
			continue;
		*slash = '\0';
		if (!add_source(b, class, muxer, name, number++))
			return false;
	}
	return true;
}

static bool make_graph(struct babeltrace *b, const char *path)
{
	const bt_component_class_source *source = find_source();
	const bt_component_class_filter *muxer_class = find_muxer();
	const bt_component_filter *muxer = NULL;
	const bt_component_sink *sink = NULL;

	b->graph = bt_graph_create(0);

	bool is_good =
		b->graph && muxer_class &&
		bt_graph_add_filter_component(b->graph, muxer_class, "muxer", NULL,
					      BT_LOGGING_LEVEL_NONE,
					      &muxer) == BT_GRAPH_ADD_COMPONENT_STATUS_OK &&
		bt_graph_add_simple_sink_component(b->graph, "sink", sink_begin, sink_consume, NULL,
						   b, &sink) == BT_GRAPH_ADD_COMPONENT_STATUS_OK &&
		add_sources(b, path, source, muxer) &&
		bt_graph_connect_ports(
			b->graph, bt_component_filter_borrow_output_port_by_index_const(muxer, 0),
			bt_component_sink_borrow_input_port_by_index_const(sink, 0),
			NULL) == BT_GRAPH_CONNECT_PORTS_STATUS_OK;

	bt_component_class_put_ref(bt_component_class_source_as_component_class_const(source));
	bt_component_class_put_ref(bt_component_class_filter_as_component_class_const(muxer_class));
	return is_good;
}

static const char *environment(const bt_trace *trace, const char *name)
{
	const bt_value *value = bt_trace_borrow_environment_entry_value_by_name_const(trace, name);

	return value && bt_value_is_string(value) ? bt_value_string_get(value) : NULL;
}

/* Reads trace and clock from the message that begins the first stream. */
static void read_trace(struct babeltrace *b, const bt_message *message)
{
	const bt_stream *stream = bt_message_stream_beginning_borrow_stream_const(message);
	const bt_trace *trace = bt_stream_borrow_trace_const(stream);
	const bt_clock_class *clock = bt_stream_class_borrow_default_clock_class_const(
		bt_stream_borrow_class_const(stream));
	const char *host = environment(trace, "hostname");
	const char *tracer = environment(trace, "tracer_name");
	const char *release = environment(trace, "kernel_release") ?: environment(trace, "release");
	int64_t seconds = 0;
	uint64_t ticks = 0;

	b->host = host ? must_strdup(host) : NULL;
	b->source.host = b->host;
	b->source.states = raw_states_of_release(release);
	b->dialect = tracer && strncmp(tracer, "lttng", 5) == 0 ? RAW_LTTNG : RAW_KERNEL;
	if (!clock)
		return;
	bt_clock_class_get_offset(clock, &seconds, &ticks);

	uint64_t frequency = bt_clock_class_get_frequency(clock);
	__int128 offset = (__int128)seconds * NSEC_PER_SEC +
			  (__int128)ticks * NSEC_PER_SEC / (frequency ? frequency : 1);

	b->source.realtime_offset = offset > INT64_MIN && offset < INT64_MAX ? (int64_t)offset : 0;
	b->source.has_realtime = b->source.realtime_offset != 0;
	b->source.is_monotonic = strcmp(bt_clock_class_get_name(clock) ?: "", "monotonic") == 0;
}

int ctf_babeltrace_new(const char *path, struct raw_source **ret, struct err *err)
{
	struct babeltrace *b = must_alloc(sizeof(*b));
	const bt_message *message;
	int code = -EBADMSG;

	b->guard = mapping_guard_new(path);
	b->source = (struct raw_source){
		.next = babeltrace_next,
		.name = babeltrace_name,
		.fields = babeltrace_fields,
		.type_name = babeltrace_type_name,
		.free = babeltrace_free,
		.warning = must_printf("reading '%s' through libbabeltrace2, which is slower: %s",
				       path, err->text),
	};
	if (!make_graph(b, path))
		fail(err, path);
	else
		code = next_message(b, &message, err);
	if (code < 0) {
		babeltrace_free(&b->source);
		return code;
	}
	if (message && bt_message_get_type(message) == BT_MESSAGE_TYPE_STREAM_BEGINNING)
		read_trace(b, message);
	*ret = &b->source;
	return 0;
}

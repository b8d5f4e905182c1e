/* SPDX-License-Identifier: Apache-2.0 */
#include "top/operation.h"

#include <stdio.h>

#include "test.h"

/* Adds a rebuilt span, with its number as id. */
static span_id add(struct span_set *set, uint32_t number, uint32_t trace, uint32_t parent,
		   const char *service, const char *operation, enum span_kind kind)
{
	struct span span = { .start = number,
			     .end = number + 10,
			     .service = span_set_intern(set, service),
			     .operation = span_set_intern(set, operation),
			     .source = SPAN_INFERRED,
			     .kind = kind };

	memcpy(span.trace, &trace, sizeof(trace));
	memcpy(span.id, &number, sizeof(number));
	memcpy(span.parent_id, &parent, sizeof(parent));
	return span_set_add(set, &span);
}

TEST(requests_that_call_the_same_services_are_one_operation)
{
	_cleanup_(model_freep) struct model *model = model_new();
	_cleanup_(span_set_done) struct span_set set = { .model = model };
	_cleanup_(operations_done) struct operations ops = { 0 };
	span_id first = add(&set, 1, 1, 0, "front", ":80", SPAN_SERVER);

	add(&set, 2, 1, 1, "ledger", ":81", SPAN_SERVER);
	add(&set, 3, 1, 1, "contacts", ":82", SPAN_SERVER);
	add(&set, 4, 1, 3, "contacts", "10.0.0.1:5432", SPAN_CLIENT);

	span_id second = add(&set, 5, 5, 0, "front", ":80", SPAN_SERVER);

	add(&set, 6, 5, 5, "contacts", ":82", SPAN_SERVER);
	add(&set, 7, 5, 6, "contacts", "10.0.0.1:5432", SPAN_CLIENT);
	add(&set, 8, 5, 5, "ledger", ":81", SPAN_SERVER);
	add(&set, 9, 5, 5, "ledger", ":81", SPAN_SERVER);
	add(&set, 10, 5, 5, "front", "handoff", SPAN_INTERNAL);

	span_id third = add(&set, 11, 11, 0, "front", ":80", SPAN_SERVER);

	span_set_finish(&set);

	struct operation *op = operations_find(&ops, &set, first);

	CHECK_STR(op->name, ":80 > 10.0.0.1:5432, contacts, ledger");
	CHECK_STR(op->service, "front");
	CHECK(operations_find(&ops, &set, second) == op);
	CHECK(operations_find(&ops, &set, third) != op);
	CHECK_STR(operations_find(&ops, &set, third)->name, ":80");
	CHECK_INT(ops.items.count, 2);
}

TEST(a_request_in_flight_belongs_to_the_busiest_operation_of_its_entry)
{
	_cleanup_(model_freep) struct model *model = model_new();
	_cleanup_(span_set_done) struct span_set set = { .model = model };
	_cleanup_(operations_done) struct operations ops = { 0 };
	span_id root = add(&set, 1, 1, 0, "front", ":80", SPAN_SERVER);
	span_id alone = add(&set, 3, 3, 0, "front", ":80", SPAN_SERVER);
	span_id other = add(&set, 4, 4, 0, "front", ":90", SPAN_SERVER);

	add(&set, 2, 1, 1, "ledger", ":81", SPAN_SERVER);
	span_set_finish(&set);

	struct operation *calls = operations_find(&ops, &set, root);
	struct operation *plain = operations_find(&ops, &set, alone);

	seconds_add(&calls->seconds, 20);
	seconds_add(&plain->seconds, 10);
	operations_index_entries(&ops);
	CHECK(operations_find_entry(&ops, &set, alone) == calls);

	struct operation *made = operations_find_entry(&ops, &set, other);

	CHECK_STR(made->name, ":90");
	CHECK(operations_find_entry(&ops, &set, other) == made);
}

/* One operation per request; the number of requests is kept. */
TEST(operations_with_the_least_time_become_one)
{
	_cleanup_(model_freep) struct model *model = model_new();
	_cleanup_(operations_done) struct operations ops = { 0 };
	size_t requests = 0;

	for (uint32_t batch = 0; batch < 6; batch++) {
		_cleanup_(span_set_done) struct span_set set = { .model = model };

		/* more in one batch than the table ever holds */
		uint32_t count = batch == 1 ? 5 * OPERATIONS_MAX : OPERATIONS_MAX;

		for (uint32_t i = 1; i <= count; i++) {
			char name[32];

			snprintf(name, sizeof(name), "op %u of %u", i, batch);

			span_id id = add(&set, i, i, 0, "s", name, SPAN_SERVER);
			struct operation *op = operations_find(&ops, &set, id);

			seconds_add(&op->seconds, batch * OPERATIONS_MAX + i);
		}
		operations_end_batch(&ops);
	}
	CHECK_INT(ops.items.count, OPERATIONS_MAX);
	for (size_t i = 0; i < ops.items.count; i++) {
		struct operation *op = ops.items.items[i];
		const uint64_t *at = map_find(&ops.index, op->key);

		requests += seconds_sum(&op->seconds, NULL, 0).count;
		CHECK(at && *at == i + 1);
	}
	CHECK_STR(ops.rest->name, "others");
	requests += seconds_sum(&ops.rest->seconds, NULL, 0).count;
	CHECK_INT(requests, 10 * OPERATIONS_MAX);
}

TEST(an_operation_without_requests_is_dropped_after_a_minute)
{
	_cleanup_(model_freep) struct model *model = model_new();
	_cleanup_(span_set_done) struct span_set set = { .model = model };
	_cleanup_(operations_done) struct operations ops = { 0 };
	span_id id = add(&set, 1, 1, 0, "s", "x", SPAN_SERVER);

	seconds_add(&operations_find(&ops, &set, id)->seconds, 5);
	operations_advance(&ops, TOP_SECONDS);
	CHECK_INT(ops.items.count, 1);
	operations_advance(&ops, TOP_SECONDS + 1);
	CHECK_INT(ops.items.count, 0);
	CHECK(!map_find(&ops.index, 0));
	CHECK_STR(operations_find(&ops, &set, id)->name, "x");
}

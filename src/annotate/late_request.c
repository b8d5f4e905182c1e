/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/late_request.h"

#include <string.h>

#include "report/export/otlp_put.h"

static void begin_scope(struct otlp_writer *w)
{
	static const char name[] = "sonde", version[] = SONDE_VERSION;

	otlp_begin_scope(w, &(struct otlp_scope){ .name = { name, strlen(name) },
						  .version = { version, strlen(version) } });
}

struct otlp_writer late_request(struct otlp_reader *reader)
{
	struct otlp_writer w = { 0 };
	struct otlp_resource resource = { 0 };

	if (otlp_read_resource(reader, &resource) < 0)
		resource = (struct otlp_resource){ 0 };
	otlp_begin_resource(&w, &resource);
	otlp_put_list(&w, resource.attributes);
	begin_scope(&w);
	return w;
}

struct otlp_writer late_request_of(const char *service)
{
	struct otlp_writer w = { 0 };
	struct otlp_put put = { .w = &w };

	otlp_begin_resource(&w, &(struct otlp_resource){ 0 });
	otlp_put_text(&put, "service.name", service);
	otlp_put_done(&put);
	begin_scope(&w);
	return w;
}

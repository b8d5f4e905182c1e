/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_class - threads of a process that do the same work, by their names.
 *
 * Workers of a pool are named alike but for a number: "worker-3", "pool-1-thread-6".  A process
 * also has threads with a task of their own, such as a garbage collector, which must not be mixed
 * with the workers.
 */
#ifndef SONDE_ANALYSE_THREAD_CLASS_H
#define SONDE_ANALYSE_THREAD_CLASS_H

#include <string.h>

#include "base/hash.h"
#include "model/model.h"

/* A hash of the name without its number; 0 for the name of the process, and for that and a number.
 */
static inline uint64_t thread_class(const struct model *model, thread_id id)
{
	const struct thread *thread = model_thread(model, id);
	const char *name = model_string(model, thread->comm);
	const char *process = model_string(model, model_process_comm(model, id));
	size_t length = strlen(name), common = strlen(process);

	while (length && ((name[length - 1] >= '0' && name[length - 1] <= '9') ||
			  strchr("-_/#:. ", name[length - 1])))
		length--;
	if (!length || (length <= common && strncmp(name, process, length) == 0))
		return 0;
	return hash_bytes(name, length);
}

#endif

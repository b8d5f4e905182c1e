/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faults - what a service in C or C++ can do wrong, switched on and off while it runs.
 *
 * A fault is injected into a service while a file NAME@SERVICE exists in the directory of faults,
 * or NAME@SERVICE:OPERATION for one of its operations.  The file can contain a number, the
 * strength of the fault:
 *
 *   sleep     the handler sleeps, ms
 *   compute   assess_risk() computes, ms of CPU time
 *   allocate  the handler allocates, fills and frees large blocks, ms of CPU time
 *   pages     the handler drops pages and touches them again, ms of CPU time
 *   flush     the handler flushes lines of a log to disk, their number
 *   lock      the thread `janitor` holds a lock that the handler needs, ms at a time
 *
 * `journal` is no fault: a service that keeps a journal flushes that number of lines in each
 * request, and becomes slow if its disk is.
 */
#ifndef SONDE_DEMO_FAULTS_H
#define SONDE_DEMO_FAULTS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Call once, before any thread.  The names are borrowed; logs: directory of the files it writes. */
void faults_init(const char *directory, const char *service, const char *logs);

/* Do what is wrong with this operation; call it in the handler of each request. */
void faults_inject(const char *operation);

/* Whether a fault is injected into the service; *ret_strength keeps its value if the file has none.
 */
bool faults_find(const char *name, const char *operation, double *ret_strength);

#ifdef __cplusplus
}
#endif
#endif

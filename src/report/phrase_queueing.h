/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phrase_queueing - requests that wait before a thread reads them, in English.
 *
 * "runs for client 127.0.0.1:39254, while this request waits in its queue": "for" is only said of
 * what the thread really worked for.
 */
#ifndef SONDE_REPORT_PHRASE_QUEUEING_H
#define SONDE_REPORT_PHRASE_QUEUEING_H

#include "report/phrase.h"

/* "client 127.0.0.1:39254", or "another request" if its client is unknown. */
struct phrase phrase_client(const struct span_set *spans, span_id span);

/* " for client 127.0.0.1:39254", " for 12 other requests"; empty if there are none. */
struct phrase phrase_others(const struct span_set *spans, const struct node *node);

/* The topmost node, down to this one, whose thread worked for others; NULL if there is none. */
const struct node *others_above(const struct account *account, const struct node *node);

/* ", while this request waits in its queue"; empty for a node that is not below queueing. */
struct phrase phrase_queueing(const struct span_set *spans, const struct account *account,
			      const struct node *node);

/* "reply in the send buffer", and why; a message if the step explains a wait. */
struct phrase phrase_sending(const struct step *step);

/* A node of queueing itself. */
struct phrase phrase_queueing_node(const struct span_set *spans, const struct node *node);

#endif

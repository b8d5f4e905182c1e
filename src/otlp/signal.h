/* SPDX-License-Identifier: Apache-2.0 */
/* signal - what an export request contains. */
#ifndef SONDE_OTLP_SIGNAL_H
#define SONDE_OTLP_SIGNAL_H

enum otlp_signal {
	OTLP_TRACES,
	OTLP_METRICS,
	OTLP_LOGS,
	OTLP_SIGNAL_COUNT,
};

#endif

sonde info data/good/perf-calls.data

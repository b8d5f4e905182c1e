# A warning mentions a second root span if one of two is shown.
sonde explain data/good/otlp-skew.json
sonde explain --json --trace a1 data/good/otlp-skew.json | grep -o '"trace_roots":[0-9]*'
sonde path --trace a1 data/good/otlp-skew.json
sonde info data/good/otlp-skew.json

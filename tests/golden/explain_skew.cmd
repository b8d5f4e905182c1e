# A server span starts 50 ms before its client: its service is shifted, and original times are kept.
sonde explain --trace a1 data/good/otlp-skew.json
sonde explain --json --trace a1 data/good/otlp-skew.json | tr '{' '\n' | grep -o '"clock_shift.*'
sonde path --json --trace a1 data/good/otlp-skew.json | tr '{' '\n' | grep -o '"clock_shift.*'
sonde export --to=json data/good/otlp-skew.json | grep '"find"'
sonde export --to=otlp-json data/good/otlp-skew.json | tr '{' '\n' | grep -A1 'clock_shift'

# the format and number of events of a file of each format
for file in every-kind.sonde jaeger-small.json zipkin-small.json otlp-sdk.otlp otlp-small.json \
	kernel.ftrace small.psv trace-cmd-v7.dat perf-calls.data; do
	printf '%s ' "$file"
	sonde info --json "data/good/$file" |
		python3 -c 'import json, sys; i = json.load(sys.stdin); print(i["format"], i["events"])'
done

early="${TMPDIR:-/tmp}/early.$$.json"
cat >"$early" <<'END'
{"data": [{"traceID": "ab00000000000001", "processes": {"p": {"serviceName": "early"}}, "spans": [
	{"traceID": "ab00000000000001", "spanID": "cd", "processID": "p", "operationName": "long ago", "startTime": 1794724093000000, "duration": 10000000}]}]}
END
sonde explain ../demo/demo.sonde ../demo/demo.json "$early" | head -1
sonde explain --trace=ab ../demo/demo.sonde ../demo/demo.json "$early" | head -1
rm "$early"

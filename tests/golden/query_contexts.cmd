# needs query
sonde query data/good/tasks.sonde "SELECT operation, kind, cpu_time, duration FROM spans; SELECT tid, since_start(start) AS at, duration, cpu_time, source, span, trace_id, span_id, service, operation FROM contexts; SELECT * FROM attributes"
sonde query data/good/every-kind.sonde "SELECT span, key, value, typeof(value) AS stored, type FROM attributes ORDER BY key; SELECT key FROM attributes WHERE value > 0 AND type <> 'string'"

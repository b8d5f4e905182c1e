# needs query
sonde query data/good/tasks.sonde "SELECT operation, kind, cpu, ns FROM spans; SELECT tid, since(start) AS at, ns, cpu, how, span_id, trace, span, service, operation FROM contexts; SELECT * FROM attributes"
sonde query data/good/every-kind.sonde "SELECT span_id, key, value, typeof(value) AS stored, type FROM attributes ORDER BY key; SELECT key FROM attributes WHERE value > 0 AND type <> 'string'"

# needs query
sonde query data/good/otlp-skew.json "SELECT operation, start, original_start, end, unfinished FROM spans"

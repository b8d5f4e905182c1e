# needs record
# Each span would go round for ever.
OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:14999 sonde annotate --grpc=14998 --http=14999

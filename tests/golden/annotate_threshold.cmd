# needs record
sonde annotate --threshold=soon --grpc=14998 --http=14999 --to=http://localhost:14997

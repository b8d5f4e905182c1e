# needs record
sonde annotate --grpc=localhost --http=14999

sonde help export

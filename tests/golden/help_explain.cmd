sonde explain --help

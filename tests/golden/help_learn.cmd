sonde learn --help

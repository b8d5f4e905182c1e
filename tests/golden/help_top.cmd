sonde top --help

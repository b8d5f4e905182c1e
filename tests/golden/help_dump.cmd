sonde dump --help

sonde requests --help

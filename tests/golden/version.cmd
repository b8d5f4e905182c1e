sonde --version

sonde help --help | head -1; sonde help help | head -1

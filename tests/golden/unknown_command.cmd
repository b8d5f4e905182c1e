sonde recrod

sonde help diagnose

# Rebuilt requests, and a limit of the user.
sonde diagnose --slow=50ms ../demo/demo.sonde

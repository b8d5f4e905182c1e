# The disk is full: a message and a failure.
sonde help >/dev/full

sonde dump x --from=soon

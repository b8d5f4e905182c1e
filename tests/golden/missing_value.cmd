sonde dump x --from

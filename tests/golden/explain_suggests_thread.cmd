sonde explain data/good/tracer.ftrace

# SPDX-License-Identifier: Apache-2.0
"""Services in Java, Go and Python with packages from PyPI, which are compiled or installed once per build; nginx."""
import pathlib
import sys

import services

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "sdk"))
import pypi  # noqa: E402

# All versions are fixed, so that a new release cannot change a fault.
PACKAGES = ["fastapi==0.162.4", "uvicorn==0.54.0", "gunicorn==27.0.0", "grpcio==1.85.1",
            "opentelemetry-sdk==1.45.1", "opentelemetry-exporter-otlp-proto-http==1.45.1",
            "opentelemetry-instrumentation-fastapi==0.66b1"]
NGINX = """
    daemon off; worker_processes 1; pid {directory}/nginx.pid; error_log {directory}/nginx-error.log;
    events {{ worker_connections 64; }}
    http {{
        access_log off; client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
        fastcgi_temp_path {directory}/fastcgi; uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
        {settings}
        server {{
            listen 127.0.0.1:{port};
            location / {{ {location} }}
        }}
    }}
"""
WARM_UP = 3  # seconds of requests before those that are measured


def python(lab):
    """The Python of an environment with PACKAGES."""
    try:
        return pypi.install(lab.build.with_name("faults-venv"), PACKAGES, services.PYTHON)
    except pypi.Skip as skip:
        raise services.Skip(str(skip)) from skip


def java(lab, source, port, *options, arguments=()):
    """Start a Java program of services/, and run it until most of it is compiled; returns the port."""
    path, classes = services.SOURCES / source, lab.build / "classes"
    made = classes / f"{path.stem}.class"
    if not made.exists() or made.stat().st_mtime < path.stat().st_mtime:
        services.run("javac", "-g", "-d", classes, path)
    # Without nodelay, each reply waits for the delayed ACK of its header.
    lab.service(path.stem.lower(), "java", "-Dsun.net.httpserver.nodelay=true", *options, "-cp", classes, path.stem,
                port, *arguments, port=port)
    lab.load(port, "/", connections=8, pause=5, seconds=WARM_UP)
    return port


def go(lab, source):
    """The path of a Go program of services/."""
    path = services.SOURCES / source
    program = lab.build / path.stem
    if not program.exists() or program.stat().st_mtime < path.stat().st_mtime:
        services.run("go", "build", "-o", program, path)
    return program


def nginx(lab, location, settings="", limits=()):
    """Start nginx with these directives for all requests, after the words of lab.limited(); returns the port."""
    file, port = lab.directory / "nginx.conf", lab.port()
    file.write_text(NGINX.format(directory=lab.directory, port=port, location=location, settings=settings))
    return lab.service("nginx", *limits, "nginx", "-c", file, "-e", lab.directory / "nginx-error.log", port=port)

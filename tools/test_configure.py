#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/configure detects packages that are installed after a build was set up, once."""
import os
import pathlib
import subprocess
import tempfile
import unittest

CONFIGURE = pathlib.Path(__file__).resolve().parent / "configure"
# Replaces meson: logs its arguments, and creates the file that marks a configured directory.
MESON = """#!/bin/sh
echo "$@" >>"$CALLS"
[ "$1 $2" != "setup $DIR" ] || touch "$DIR/build.ninja"
"""


class Configure(unittest.TestCase):
    def setUp(self):
        room = tempfile.TemporaryDirectory()
        self.addCleanup(room.cleanup)
        self.room = pathlib.Path(room.name)
        self.dir, self.calls, self.status = self.room / "build", self.room / "calls", self.room / "status"
        (self.room / "meson").write_text(MESON)
        (self.room / "meson").chmod(0o755)
        self.install(-100)

    def install(self, ago):
        """Set the time of the last installation, in seconds relative to now."""
        self.status.touch()
        now = self.status.stat().st_mtime
        os.utime(self.status, (now + ago, now + ago))

    def configure(self, *options):
        """Run configure, and return the calls of meson."""
        self.calls.write_text("")
        env = os.environ | {"PATH": f"{self.room}:{os.environ['PATH']}", "CALLS": str(self.calls),
                            "DIR": str(self.dir), "DPKG_STATUS": str(self.status)}
        subprocess.run([CONFIGURE, self.dir, *options], env=env, check=True, stdout=subprocess.DEVNULL)
        return self.calls.read_text().splitlines()

    def test_a_new_directory_is_set_up_with_its_options(self):
        self.assertEqual(self.configure("-Dfuzz=true"), [f"setup {self.dir} -Dfuzz=true"])

    def test_without_new_packages_nothing_is_configured(self):
        self.configure()
        self.assertEqual(self.configure(), [])

    def test_a_new_package_configures_the_build_once(self):
        self.configure()
        os.utime(self.dir / ".configured", (1, 1))
        self.assertIn(f"setup --reconfigure {self.dir}", self.configure())
        self.assertEqual(self.configure(), [])

    def test_a_package_unpacked_below_the_directory_configures_the_build(self):
        self.configure()
        have = self.dir / "otel-cpp" / ".backports" / "have"
        have.mkdir(parents=True)
        (have / "opentelemetry-cpp-dev").touch()
        os.utime(self.dir / ".configured", (1, 1))
        self.install(-10 ** 9 * 1.7)
        self.assertIn(f"setup --reconfigure {self.dir}", self.configure())

    def test_a_directory_without_a_stamp_is_configured_again(self):
        self.configure()
        (self.dir / ".configured").unlink()
        self.assertIn(f"setup --reconfigure {self.dir}", self.configure())


if __name__ == "__main__":
    unittest.main()

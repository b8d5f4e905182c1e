# SPDX-License-Identifier: Apache-2.0
"""The files of the project, for the style checks."""
import subprocess
import sys


def tracked(top):
    """Names of all files that git tracks or would add; exits with 77, a skip, without git."""
    git = ["git", "-c", "safe.directory=*", "-C", str(top), "ls-files", "-z", "--cached", "--others",
           "--exclude-standard"]
    try:
        listed = subprocess.run(git, capture_output=True, text=True)
    except FileNotFoundError:
        listed = None
    if listed is None or listed.returncode:
        print("git cannot list the files of the project")
        sys.exit(77)
    return sorted(name for name in listed.stdout.split("\0") if name)

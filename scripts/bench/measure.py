"""Run a command and take what it cost from the kernel's own accounts (wait4)."""

import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass

# What would change the Go runtime's own choice of memory and threads. A user has none of these set.
GO_TUNABLES = ("GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG")


@dataclass
class Sample:
    cpu_s: float  # user + system, of the process and the children that it waited for
    wall_s: float
    peak_mb: float  # largest resident set, MB of 10^6 bytes


# Linux counts ru_maxrss in KiB, macOS in bytes.
MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024


class CommandError(Exception):
    """A measured command did not end with status 0."""


def measure(command, stdout=None):
    """Run the command to its end and return its Sample.

    A child begins as a copy of this process, and the kernel counts that copy in the child's largest resident set. So no
    peak can read lower than this process; it must stay small and leave all parsing to others.
    """
    environment = {name: value for name, value in os.environ.items() if name not in GO_TUNABLES}
    with open(stdout or os.devnull, "wb") as out:
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=out, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise CommandError(f"exit status {process.returncode}: {' '.join(command)}")
    return Sample(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * MAXRSS_BYTES / 1e6)


def own_peak_mb():
    """Return the peak of this process: the least that measure() can report."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_BYTES / 1e6

"""Runs SGLang's programs as python -m would, each in a process that is forked from this one.

What they import takes many times longer than what they do here, so it is imported once. A client of the Unix socket
that the first argument names sends a line of JSON with args, dir and env; it gets what the program prints, and in the
last line its exit status. The end of stdin ends this one.
"""

import json
import os
import runpy
import select
import signal
import socket
import sys

import sglang.benchmark.serving  # noqa: F401, and with it nearly all that the others import
import sglang.srt.utils.network  # noqa: F401
import tabulate  # noqa: F401


def serve(conn):
    """Runs one program; returns in the process that is to be it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    job = json.loads(conn.makefile().readline())
    program = os.fork()
    if program:
        _, status = os.waitpid(program, 0)
        conn.sendall(b"\n%d" % os.waitstatus_to_exitcode(status))
        os._exit(0)
    os.dup2(conn.fileno(), 1)
    os.dup2(conn.fileno(), 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    conn.close()
    os.chdir(job["dir"])
    os.environ.update(job["env"])
    sys.argv = job["args"]


listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("ready", flush=True)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    if sys.stdin in select.select([sys.stdin, listener], [], [])[0]:
        sys.exit()
    conn, _ = listener.accept()
    if os.fork() == 0:
        listener.close()
        serve(conn)
        break
    conn.close()
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)

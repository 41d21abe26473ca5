"""SGLang's bench_one_batch_server, without the parts of it that start a server.

It takes the flags of the server that it would start, for which it imports that server and its kernels. Here it gets
--base-url always, so these modules are empty but for the names that it looks for.
"""

import runpy
import sys
import types

import msgspec


class ServerArgs(msgspec.Struct):
    host: str = "127.0.0.1"
    port: int = 30000
    model_path: str = "none"

    @staticmethod
    def add_cli_args(parser):
        pass

    @classmethod
    def from_cli_args(cls, args):
        return cls()

    def resolve_once(self):
        pass


for name, names in {
    "sglang.srt.server_args": {"ServerArgs": ServerArgs},
    "sglang.srt.entrypoints.http_server": {"launch_server": None},
    "sglang.srt.arg_groups.overrides": {"resolving_view": lambda args: args},
}.items():
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(names)

runpy.run_module("sglang.benchmark.one_batch_server", run_name="__main__", alter_sys=True)

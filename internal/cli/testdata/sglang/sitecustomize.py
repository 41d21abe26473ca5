"""Stands in for the GPU parts that SGLang's benchmark clients import but never call.

Put this directory on PYTHONPATH. A module of STUBBED becomes an empty shell: its
capitalised attributes are classes, the others modules, and calling one returns
what it was given, so that decorators and base classes work.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types

STUBBED = {"torch", "triton"}

# bench_serving takes one constant from this module, which imports the whole scheduler.
CONSTANTS = {"sglang.srt.disaggregation.utils": {"FAKE_BOOTSTRAP_HOST": "2.2.2.2"}}


class Shell(types.ModuleType):
    def __init__(self, name):
        super().__init__(name)
        self.__path__ = []
        self.__version__ = "2.9.0"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        if name[0].isupper():
            value = type(name, (), {"__module__": self.__name__, "__init__": lambda self, *a, **k: None})
        else:
            value = sys.modules.setdefault(full, Shell(full))
        setattr(self, name, value)
        return value

    def __call__(self, *args, **kwargs):
        if len(args) == 1 and callable(args[0]) and not kwargs:
            return args[0]
        return Shell("called") if not (args or kwargs) else (lambda f: f)

    def __mro_entries__(self, bases):
        return ()

    def __bool__(self):
        return False

    def __or__(self, other):
        return object

    __ror__ = __or__

    def __getitem__(self, key):
        return self

    def __lt__(self, other):
        return False

    __gt__ = __le__ = __ge__ = __lt__


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in STUBBED or name in CONSTANTS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Shell(spec.name)

    def exec_module(self, module):
        vars(module).update(CONSTANTS.get(module.__name__, {}))


sys.meta_path.insert(0, Finder())

# transformers and others look before they import: for them the shells are not installed.
_find_spec = importlib.util.find_spec


def find_spec(name, package=None):
    return None if name.partition(".")[0] in STUBBED else _find_spec(name, package)


importlib.util.find_spec = find_spec

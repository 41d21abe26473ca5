"""The stepscope program, packed for Python's package managers."""

from ._find_stepscope import find_stepscope_bin

__all__ = ["find_stepscope_bin"]

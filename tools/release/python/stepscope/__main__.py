import os
import sys

from ._find_stepscope import find_stepscope_bin

if __name__ == "__main__":
    try:
        program = find_stepscope_bin()
    except FileNotFoundError as error:
        sys.exit(f"stepscope: {error}")
    os.execv(program, [program, *sys.argv[1:]])

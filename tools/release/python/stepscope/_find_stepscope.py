import os
import sys
import sysconfig


def find_stepscope_bin() -> str:
    """Return the path of the program that was installed with this package.

    The places beside this package come first, because another environment may have another version.
    Raises FileNotFoundError if the program is in none of the places of installers.
    """
    site = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    prefix = os.path.dirname(os.path.dirname(os.path.dirname(site)))
    places = [
        os.path.join(site, "bin"),  # pip install --target
        os.path.join(prefix, "bin"),  # PREFIX/lib/pythonX.Y/site-packages: environments, --prefix, --user
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", vars={"base": sys.base_prefix}),
    ]
    for scheme in ("posix_user", "osx_framework_user"):
        if scheme in sysconfig.get_scheme_names():
            places.append(sysconfig.get_path("scripts", scheme))
    for place in places:
        program = os.path.join(place, "stepscope")
        if os.path.isfile(program):
            return program
    raise FileNotFoundError(f"no program for {site}: pip install --force-reinstall stepscope")

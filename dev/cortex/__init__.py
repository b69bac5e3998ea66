"""Gives a checkout the names of the installed package: `cortex.bus` is the folder `bus/`."""

from pathlib import Path as _Path  # not `Path`, which the facade has

_FACADE = _Path(__file__).parents[1] / "facade"
__path__ = [str(_Path(__file__).parents[2]), str(_FACADE)]
# The text that a wheel has as cortex/__init__.py, so that both give the same names.
exec(compile((_FACADE / "__init__.py").read_text("utf-8"), _FACADE / "__init__.py", "exec"))

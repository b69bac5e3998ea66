"""Gives a checkout the names of the installed package: `cortex.bus` is the folder `bus/`."""

from pathlib import Path

__path__ = [str(Path(__file__).parents[2])]

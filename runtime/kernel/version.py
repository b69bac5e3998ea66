"""Which version of Cortex this is."""

from importlib.metadata import PackageNotFoundError, version


def _installed() -> str:
    try:
        return version("cortex-runtime")
    except PackageNotFoundError:
        return "0+checkout"


VERSION = _installed()

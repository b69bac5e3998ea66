"""The published package of directives beside ours, as the tests compare them."""

import importlib.util
import sys
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parents[1] / "tests" / "directives_peer"


def _loaded() -> Any:
    spec = importlib.util.spec_from_file_location(
        "directives_compared", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
    )
    if spec is None or spec.loader is None:
        raise SystemExit(f"{FOLDER} is missing: run this from a checkout")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


peer: Final = _loaded()

"""Write the stubs that show type checkers and editors the front door of every room.

`python dev/stubs.py` writes them; `--check` only says whether they are in step. A room without a
stub cannot be imported from outside its folder without the type checkers saying so.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FACADE = ROOT / "dev" / "facade"  # the names of `cortex` itself
LAYERS = ("bus", "runtime", "actors", "plugins")


def rooms() -> list[str]:
    """Dotted names of every folder with a front door, parents first."""
    return [
        ".".join(init.parent.relative_to(ROOT).parts)
        for layer in LAYERS
        for init in sorted((ROOT / layer).rglob("__init__.py"))
    ]


def stubs() -> dict[Path, str]:
    """Text of every stub by path."""
    names = rooms()
    parents = {name.rpartition(".")[0] for name in names}
    made: dict[Path, str] = {}
    for name in names:
        base = ROOT / "dev" / "cortex" / Path(*name.split("."))
        path = base / "__init__.pyi" if name in parents else base.with_suffix(".pyi")
        made[path] = f"from {name} import *\n"
    for path in FACADE.glob("*.py*"):
        name = "facade" if path.stem == "__init__" else f"facade.{path.stem}"
        if path.suffix in (".py", ".pyi"):
            made[ROOT / "dev" / "cortex" / f"{path.stem}.pyi"] = f"from {name} import *\n"
    return made


def main() -> int:
    """Write the stubs, or compare them."""
    wanted = stubs()
    there = {p: p.read_text() for p in (ROOT / "dev" / "cortex").rglob("*.pyi")}
    if wanted == there:
        return 0
    if "--check" in sys.argv:
        print("dev/cortex is out of step with the front doors: run python dev/stubs.py")
        return 1
    for path in there.keys() - wanted.keys():
        path.unlink()
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

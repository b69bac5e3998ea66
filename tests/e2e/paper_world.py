"""The paper's own processes, and whoever copies them into a home."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from cortex.plugins.host import unavailable
from cortex.runtime.serving import found

from .. import installed_packages
from ..waiting import until
from .repair_world import User

DEFAULT = Path(__file__).parents[3] / "shared" / "seeds" / "processes"
SEEDS = Path(os.environ.get("CORTEX_SEEDS", DEFAULT))
MISSING = f"no seeds at {SEEDS} (CORTEX_SEEDS)"
UNCONFINED = ["--unconfined"] if unavailable() else []


def keep(user: User, name: str, *topics: str) -> None:
    """Copy a file of the paper into the home, and give it topics that it names."""
    (user.home.processes / name).write_bytes((SEEDS / name).read_bytes())
    for topic in topics:
        page = user.home.knowledge / f"{topic.replace('.', '/')}.md"
        page.parent.mkdir(exist_ok=True)
        page.write_text(f"# {topic}\n\nEvery push runs the unit tests ({topic}).\n")


def install(user: User, site: Path) -> None:
    """Install the team's plugin beside Cortex, in *site*."""
    installed_packages.install(site, "team-actions", plugins="team = team_actions:PLUGIN")
    shutil.copy(Path(__file__).with_name("team_actions.py"), site)
    user.env["PYTHONPATH"] = str(site)


@contextlib.contextmanager
def hub(user: User) -> Iterator[None]:
    """A hub on their home, in the foreground: in the background it would not see the plugin."""
    with user.start("up") as process:
        try:
            until(lambda: found(user.home) or process.poll() is not None)
            yield
        finally:
            process.terminate()
            process.communicate()

"""Running systems that the tests of one module share."""

import atexit
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from cortex.actors.library import library_sources
from cortex.runtime.kernel import Home, Runtime

from . import prestarted
from .staff_world import ANSWERING, QUICK, World

# Homes that tests make are trusted in a folder of their own; all that they start inherits it.
STATE = tempfile.mkdtemp(prefix="cortex-tests-")
os.environ["XDG_STATE_HOME"] = STATE
atexit.register(shutil.rmtree, STATE, ignore_errors=True)

# As users have it: without bytecode each of the many processes that tests start would compile all
# that it imports. Images for containers often switch it off.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# What does not depend on how Cortex is installed is seen once, from the checkout, and not from the
# wheel. A file in these that is about the Pythons that Cortex starts has the mark `wheel`.
TESTS = Path(__file__).parent
ONCE = {"attacks", "conformance", "contracts", "integration", "simulation", "unit"}
ONCE |= {"test_front_doors.py", "test_layers.py"}

# The same examples on every run, and as many as it takes: whether a test passes is up to the code
# alone, not to the draw nor to how busy the machine is. `--hypothesis-profile=default` looks for
# other ones.
settings.register_profile(
    "steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")

# A shell that starts a command in the background has it ignore Ctrl-C, and so all that it starts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


prestarted.install()


@pytest.fixture(scope="module", autouse=True)
def starts(request: pytest.FixtureRequest) -> Iterator[None]:
    """How the tests of this module start `cortex`: forked, unless it says otherwise."""
    with prestarted.in_full(getattr(request.module, "STARTED_IN_FULL", False)):
        yield


def pytest_unconfigure() -> None:
    """Leave no process behind."""
    prestarted.uninstall()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark with `once` what `.ci/run` leaves out where it tests the wheel."""
    for item in items:
        once = any(TESTS / each in (item.path, *item.path.parents) for each in ONCE)
        if once and item.get_closest_marker("wheel") is None:
            item.add_marker(pytest.mark.once)


@pytest.fixture(scope="module")
def quick() -> Iterator[World]:
    """A runtime in memory with what runs programs and files; nothing in it asks a model."""
    with Runtime(components=QUICK) as runtime:
        yield World(runtime)


@pytest.fixture(scope="module")
def answering(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A runtime with a home whose steps may ask the embedded model."""
    home = Home.create(tmp_path_factory.mktemp("answering") / ".cortex")
    with Runtime(home, components=ANSWERING) as runtime:
        yield World(runtime)


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """All that comes with Cortex, with its library, in a home of its own."""
    with Runtime(Home.create(tmp_path_factory.mktemp("whole") / ".cortex")) as runtime:
        world = World(runtime)
        world.submit_files(library_sources())
        yield world


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A new home."""
    return Home.create(tmp_path / ".cortex")


@pytest.fixture
def keyring_in_memory() -> Iterator[Any]:
    """The package, with a keyring in memory."""
    package = pytest.importorskip("keyring", reason="needs the extra `keyring`")
    backend: Any = pytest.importorskip("keyring.backend").KeyringBackend

    class Memory(backend):  # type: ignore[misc]  # it is there where the extra is
        priority = 1

        def __init__(self) -> None:
            super().__init__()
            self.kept: dict[tuple[str, str], str] = {}
            self.locked = False
            self.fails: Exception | None = None

        def get_password(self, service: str, username: str) -> str | None:
            if self.fails is not None:
                raise self.fails
            if self.locked:
                raise package.errors.KeyringLocked("it is locked")
            return self.kept.get((service, username))

        def set_password(self, service: str, username: str, password: str) -> None:
            self.kept[service, username] = password

        def delete_password(self, service: str, username: str) -> None:
            del self.kept[service, username]

    before = package.get_keyring()
    package.set_keyring(Memory())
    yield package
    package.set_keyring(before)

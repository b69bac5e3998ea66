"""What a handler logs says for whom it was, whoever imports structlog, and no other line does."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
import structlog
from structlog.contextvars import bind_contextvars, get_contextvars, merge_contextvars

from cortex.bus import Logger, Publish
from cortex.runtime.kernel import Component, Delivery, Output, on

from .bus_world import PlanWrite, draft
from .kernel_world import Fed, fed

pytestmark = pytest.mark.wheel

LOG = Logger("cortex.test")  # it asks structlog for a logger at each line


class Logs(Component):
    """Logs a line for each plan, and binds something for itself."""

    @on(PlanWrite)
    def write(self, event: PlanWrite, delivery: Delivery) -> Iterator[Output]:
        LOG.warning("plan_written", plan=event.plan)
        if event.plan == "bad":
            raise ValueError("no plan")
        bind_contextvars(step="its own")
        LOG.warning("plan_bound")
        yield from ()


def lines(made: Fed) -> list[dict[str, object]]:
    with structlog.testing.capture_logs([merge_contextvars]) as logs:
        made.run(made.work())
    return [dict(each) for each in logs]


def published(plan: str) -> Fed:
    made = fed(Logs)
    made.run(made.work())  # subscribes
    made.world.one(Publish((draft(plan),)))
    return made


def test_a_line_of_a_handler_carries_component_execution_and_event() -> None:
    made = published("one")

    first, second = lines(made)

    (record,) = [each for each in made.records() if each.topic == "plan.write"]
    assert first["event"] == "plan_written"
    assert first["component"] == "Logs"
    assert first["event_id"] == record.id.hex()
    assert first.get("execution") == record.correlation
    assert second["step"] == "its own"


def test_nothing_stays_bound_after_a_handler_that_returned_or_failed() -> None:
    for plan in ("one", "bad"):
        lines(published(plan))

        assert "component" not in get_contextvars()
        assert "event_id" not in get_contextvars()


FIRST = """
import sys
from cortex.bus import Draft, Logger, Recorded
from cortex.bus.events import VOCABULARY, ComponentDrop
from cortex.runtime.kernel import Component, on
from cortex.runtime.kernel.hosts.host import LocalHost

class Logs(Component):
    @on(ComponentDrop)
    def drop(self, event: ComponentDrop, delivery) -> None:
        Logger("cortex.test").warning("drop_heard")

host = LocalHost(Logs, VOCABULARY, print)
host.start()
body = Draft.of(ComponentDrop(component="c", position=1)).body
record = Recorded(
    1, 7, "component/c", 1, bytes(range(16)), 1, "component.drop", 1, "e1", None, "me", None, None,
    body,
)
assert "structlog" not in sys.modules
assert not host.handle([record], 1).failure
Logger("cortex.test").warning("outside")
"""


def test_the_line_with_which_structlog_is_imported_carries_them_too() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", FIRST], capture_output=True, text=True, check=True, timeout=60
    )

    first, outside = done.stdout.splitlines()
    assert "component" in first
    assert "e1" in first
    assert bytes(range(16)).hex() in first
    assert "component" not in outside


SLOW = """
import sys, threading, time
from importlib.abc import Loader, MetaPathFinder
from importlib.util import find_spec
from cortex.bus import Logger, with_structlog

begun, going_on, done = threading.Event(), threading.Event(), []

class Slow(MetaPathFinder, Loader):
    def find_spec(self, name, path, target=None):
        if name == "structlog":
            sys.meta_path.remove(self)
            spec = find_spec(name)
            self.inner, spec.loader = spec.loader, self
            sys.meta_path.insert(0, self)
            return spec
        if name == "structlog.contextvars":
            going_on.set()
        return None

    def create_module(self, spec):
        return self.inner.create_module(spec)

    def exec_module(self, module):
        begun.set()
        going_on.wait(0.5)
        time.sleep(0.2)  # until the other thread waits for this one
        self.inner.exec_module(module)

with_structlog(lambda: done.append("imported"))
sys.meta_path.append(Slow())
sys.meta_path.insert(0, sys.meta_path.pop())
importing = threading.Thread(target=Logger("cortex.test").warning, args=["imports"])
importing.start()
assert begun.wait(30)
"""

HANDLED = """
assert not host.handle([record], 1).failure
"""

ALSO = """
def set_up():
    import structlog
    done.append("also")

with_structlog(set_up)
importing.join()
print(*done)
"""


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout


def test_an_event_is_handled_while_another_thread_imports_structlog() -> None:
    made = FIRST.partition("assert ")[0]

    assert "drop_heard" in run(made + SLOW + HANDLED)


def test_a_setup_given_while_another_thread_imports_structlog_waits_for_it() -> None:
    assert "imported also" in run(SLOW + ALSO)

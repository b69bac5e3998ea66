"""A secret that the home knows is in no name that an event is filed under, nor beside another."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cortex.bus import Draft, Due, EventInvalidError, Publish
from cortex.bus.events import StepCompleted
from cortex.runtime.kernel import Home, Runtime

SECRET = "correct-horse-battery-1"
BODY = msgspec.msgpack.encode({"a": 1})
STEP = Draft.of(StepCompleted(execution_id="e1", step_id="a", result={}))


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    home = Home.create(tmp_path / ".cortex")
    kept = home.path / "keys" / "secrets"
    kept.mkdir(parents=True, mode=0o700)
    (kept / "PLUGIN_TOKEN").write_text(f"{SECRET}\n")
    with Runtime(home, components=[]) as runtime:
        yield runtime


@pytest.mark.parametrize("where", ["stream", "key", "correlation", "subject"])
@pytest.mark.parametrize(
    "secret", [SECRET, f"about/{SECRET}", "ghp_Zq3vX9tLw2Ub7Rk5Ns8Yd4Jm6Hc1Pf0G"]
)
def test_a_secret_as_a_name_of_a_programs_own_event_is_refused_and_recorded_nowhere(
    where: str, secret: str, runtime: Runtime
) -> None:
    draft = Draft("x.mine.said", 1, "mine/1", None, BODY)
    named = msgspec.structs.replace(draft, **{where: secret})

    with pytest.raises(EventInvalidError, match="holds a secret") as refused:
        runtime.hub.ask_one("mine", Publish((draft, named)))

    assert secret not in str(refused.value)
    assert all(b"x.mine" not in data for data in runtime.log.read(0, 1_000, 1 << 20))
    assert runtime.hub.ask_one("mine", Publish((draft,)))


def test_a_secret_as_what_a_known_event_serves_is_refused(runtime: Runtime) -> None:
    with pytest.raises(EventInvalidError, match="holds a secret"):
        runtime.hub.ask_one("mine", Publish((msgspec.structs.replace(STEP, correlation=SECRET),)))

    assert runtime.hub.ask_one("mine", Publish((STEP,)))


@pytest.mark.parametrize("where", ["stream", "key"])
def test_a_secret_in_the_names_of_an_event_that_is_due_is_refused(
    where: str, runtime: Runtime
) -> None:
    draft = msgspec.structs.replace(
        Draft("x.mine.said", 1, "mine/1", None, BODY), **{where: SECRET}
    )

    with pytest.raises(EventInvalidError, match="holds a secret"):
        runtime.hub.ask_one("mine", Publish((), due=(Due("later", 1 << 62, draft),)))

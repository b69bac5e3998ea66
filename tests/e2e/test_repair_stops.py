"""A repair that cannot be made says so in one line, records why, and leaves the checkout alone."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.bus import Backoff
from cortex.bus.events import ExecutionHalted, ModelFailed
from cortex.runtime.cli import main

from ..integration.repair_world import git
from ..servers import Answer, ScriptedOpenAI
from .repair_workshop import Workshop, workshop
from .repair_world import (
    KEY,
    KEY_ENV,
    PYTHON,
    SUMMARY,
    User,
    checkout_of,
    diagnosis,
    model,
    patch,
    pieces,
    print_of,
    use,
)

FAILED = 1  # the exit code of an execution that halted
UNAPPLIED = {**PYTHON.fix, "old": "        result =- price\n"}
OUTSIDE = {"path": "../outside.py", "old": "", "new": "print('here')\n"}
UNTYPED = json.dumps({"summary": SUMMARY, "edits": "result += price"})


class Case(msgspec.Struct, frozen=True):
    """What a model answers, and how the repair stops."""

    says: str  # in the one line
    answers: tuple[Answer, ...] = ()
    kinds: tuple[str, ...] = ()  # of the failures that are recorded of the model
    step: str = "diagnose"


CASES = {
    "unauthorised": Case(
        "scripted: unauthorised: the endpoint refuses the key (401)",
        (Answer(status=401, error="authentication_error"),),
        ("unauthorised",),
    ),
    "cut off": Case(
        "scripted was asked 5 times: cut_off: the connection broke off in the middle of the answer",
        (diagnosis(die_after=1),) * 5,
        ("cut_off",) * 5,
    ),
    "garbage": Case(
        "scripted: garbage: the endpoint answered with something other than the expected JSON",
        (diagnosis(garbage_after=1),),
        ("garbage",),
    ),
    "wrong schema twice": Case(
        "scripted answered implement_fix twice in a wrong form: ",
        (diagnosis(), *[Answer(text=pieces(UNTYPED))] * 6),
        step="implement_fix",
    ),
    "a patch that does not apply": Case(
        "edit 1 of 'cart.py' does not apply: `old` is not in it",
        (diagnosis(), *[patch(UNAPPLIED)] * 3),
        step="implement_fix",
    ),
    "a patch outside the worktree": Case(
        "edit 1 of '../outside.py'",
        (diagnosis(), *[patch(OUTSIDE)] * 3),
        step="implement_fix",
    ),
}


class Desk(User):
    """A user whose commands run in this process: what they import is there after the first."""

    def __init__(self, folder: Path, patched: pytest.MonkeyPatch, screen: Any) -> None:
        super().__init__(checkout_of(PYTHON, folder))
        self.screen = screen
        patched.chdir(self.checkout)
        patched.setenv(KEY_ENV, KEY)
        patched.setenv("XDG_DATA_HOME", self.env["XDG_DATA_HOME"])
        for name in ("CORTEX_HOME", "CORTEX_DEBUG"):
            patched.delenv(name, raising=False)
        # What is waited for is in the log; the test need not wait as long.
        patched.setattr(
            "cortex.runtime.executions.steps.deadlines.MODEL_BACKOFF", Backoff(0.01, 300.0)
        )

    def stopped(self, says: str, *, step: str) -> dict[str, Any]:
        """Repair, which stops with one line; what is recorded of it."""
        before, files = print_of(self.checkout), set(self.checkout.parent.iterdir())
        code = main(["run", "fix_ci_failure", "-i", "log=../ci.log", "--goal", "be green"])
        out, err = self.screen.readouterr()
        main(["execution", "list", "--json"])
        (row,) = json.loads(self.screen.readouterr().out)
        main(["execution", "show", row["id"], "--json"])
        shown: dict[str, Any] = json.loads(self.screen.readouterr().out)
        assert code == FAILED, out + err
        assert print_of(self.checkout) == before
        assert set(self.checkout.parent.iterdir()) == files
        assert [line for line in out.splitlines() if line.startswith(f"halted: {says}")], out
        assert "Traceback (most" not in err
        assert KEY not in out + err
        assert shown["status"] == "halted"
        assert shown["step"] == step
        assert shown["reason"].startswith(says)
        assert "\n" not in shown["reason"]
        return shown

    def kinds(self, topic: str) -> list[str]:
        """The kinds of the failures that were recorded under *topic*."""
        main(["events", "query", "--topic", topic, "--json"])
        lines = self.screen.readouterr().out.splitlines()
        return [json.loads(line)["body"]["kind"] for line in lines]


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Desk:
    return Desk(tmp_path, monkeypatch, capsys)


@pytest.fixture(scope="module")
def shop_floor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    with workshop("openai", tmp_path_factory.mktemp("repair")) as opened:
        yield opened


@pytest.mark.parametrize("name", CASES)
def test_what_a_model_does_wrong_stops_the_repair(
    name: str, shop_floor: Workshop, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case, checkout = CASES[name], checkout_of(PYTHON, tmp_path)
    before, files = print_of(checkout), set(tmp_path.iterdir())
    shop_floor.script(*case.answers)

    run = shop_floor.repair(checkout)

    halted = run.last(ExecutionHalted)
    assert (halted.step_id, halted.reason[: len(case.says)]) == (case.step, case.says)
    assert "\n" not in halted.reason
    assert [failed.kind for failed in run.all(ModelFailed)] == list(case.kinds)
    assert len(shop_floor.server.asked) == len(case.answers)
    assert main(["execution", "show", run.execution_id, "--home", str(shop_floor.home.path)]) == 0
    assert case.says in " ".join(capsys.readouterr().out.split())
    assert print_of(checkout) == before
    assert set(tmp_path.iterdir()) == files
    assert list(shop_floor.home.path.rglob("outside.py")) == []


def test_nobody_who_listens_stops_the_repair(desk: Desk) -> None:
    with ScriptedOpenAI() as server:
        use(desk.home, model("scripted", server))

    desk.stopped("scripted was asked 5 times: unreachable: no server answers", step="diagnose")

    assert desk.kinds("model.failed") == ["unreachable"] * 5


def test_a_key_that_is_not_set_stops_the_repair(
    shop_floor: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = checkout_of(PYTHON, tmp_path)
    before = print_of(checkout)
    shop_floor.script()
    monkeypatch.delenv(KEY_ENV)

    run = shop_floor.repair(checkout)

    says = f"scripted: unauthorised: the environment variable {KEY_ENV} holds no key: set it"
    assert run.last(ExecutionHalted).reason == says
    assert shop_floor.server.asked == []
    assert print_of(checkout) == before


def test_uncommitted_work_stops_the_repair_before_a_model_is_asked(desk: Desk) -> None:
    (desk.checkout / "cart.py").write_text("half done\n")
    (desk.checkout / "new.py").write_text("untracked\n")
    with ScriptedOpenAI() as server:
        use(desk.home, model("scripted", server))
        desk.stopped("gate branch_clean did not pass: 2 uncommitted paths", step="")

    assert server.asked == []


def test_a_checkout_without_an_identity_is_not_committed_to(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("user.name", "user.email"):
        git(desk.checkout, "config", "--unset", name)
    for scope in ("GLOBAL", "SYSTEM"):
        monkeypatch.setenv(f"GIT_CONFIG_{scope}", "/dev/null")
    with ScriptedOpenAI(diagnosis(), patch(PYTHON.fix)) as server:
        use(desk.home, model("scripted", server))
        halted = desk.stopped("git commit: no name to commit under", step="commit")
        # Who names themselves goes on from there; no model is asked again.
        git(desk.checkout, "config", "user.name", "Ada")
        git(desk.checkout, "config", "user.email", "ada@example.org")
        assert main(["execution", "resume", halted["id"]]) == 0
        assert f"branch: cortex/{halted['id']}\n" in desk.screen.readouterr().out

    assert len(server.asked) == 2

"""Patching files and running programs: in a worktree, never on the user's files."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cortex.actors.handlers import WriteCode
from cortex.bus import Event
from cortex.bus.events import (
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFailed,
    StepCompleted,
    StepExecute,
    StepReopened,
    ToolDenied,
    ToolFailed,
    ToolReturned,
)
from cortex.runtime.kernel import Config, Delivery

from .repair_world import CART, CART_TEST, files_of, git, repository
from .tools_world import NOON_NS, Toolbox

FIX = """\
--- a/cart.py
+++ b/cart.py
@@ -2,4 +2,4 @@
     result = 0
     for price in prices:
-        result -= price
+        result += price
     return result
"""
NEW = """\
diff --git a/docs/new.md b/docs/new.md
new file mode 100644
--- /dev/null
+++ b/docs/new.md
@@ -0,0 +1 @@
+new
"""


@pytest.fixture
def box(tmp_path: Path) -> Toolbox:
    files = {"cart.py": CART, "test_cart.py": CART_TEST, "sub/a.txt": "a\n", "old.txt": "old\n"}
    folder = repository(tmp_path / "work", files)
    return Toolbox(folder, folder / ".cortex")


def patched(box: Toolbox) -> Path:
    return box.workspace / ".cortex" / "worktrees" / "e1"


# --- going back


class Wrote:
    """An execution whose step wrote a wrong change, and then went back to it."""

    def __init__(self, box: Toolbox) -> None:
        self.box = box
        self.write_code = WriteCode(box.home, box.blobs, box.history)
        self.write("        result *= price\n")
        self.back = StepReopened(execution_id="e1", step_id="fix", dropped=("fix",))
        box.record(self.back)

    def write(self, line: str) -> None:
        edits = [{"path": "cart.py", "old": "        result -= price\n", "new": line}]
        answer = {"text": "", "data": {"summary": "Add up", "edits": edits}}
        asked = StepExecute(
            execution_id="e1", step_id="fix", action="write_code", answer=answer,
            workspace=str(self.box.workspace),
        )  # fmt: skip
        self.box.record(asked)
        (event,) = self.write_code.execute(asked, self.delivery())
        assert isinstance(event, StepCompleted), event
        self.box.record(event)

    def delivery(self) -> Delivery:
        at = len(self.box.recorded)
        return Delivery(at, NOON_NS + at, "Tested", "tester", "e1", 1, 1)

    def went_back(self) -> None:
        """The component learns that it went back."""
        self.write_code.reopened(self.back, self.delivery())

    def text(self) -> str:
        return (patched(self.box) / "cart.py").read_text()


@pytest.fixture
def wrote(box: Toolbox) -> Wrote:
    return Wrote(box)


def test_what_was_dropped_is_read_by_nobody_however_late_it_is_learnt(wrote: Wrote) -> None:
    assert "result *= price" in wrote.text()

    assert "result -= price" in wrote.box.text("read_file", path="cart.py")


def test_a_patch_stays_that_was_made_before_going_back_was_learnt(wrote: Wrote) -> None:
    wrote.box.text("apply_patch", patch=FIX)

    wrote.went_back()
    wrote.went_back()  # and again, after a restart

    assert "result += price" in wrote.text()
    assert "result += price" in wrote.box.text("read_file", path="cart.py")


def test_an_attempt_stays_that_was_made_before_going_back_was_learnt(wrote: Wrote) -> None:
    wrote.write("        result += price\n")

    wrote.went_back()

    assert "result += price" in wrote.text()


def test_each_going_back_drops_what_was_written_since(wrote: Wrote) -> None:
    wrote.went_back()
    wrote.write("        result /= price\n")
    wrote.box.record(wrote.back)

    assert "result -= price" in wrote.box.text("read_file", path="cart.py")


@pytest.mark.parametrize(
    "ends",
    [
        lambda name: ExecutionCancelled(execution_id=name, reason="enough"),
        lambda name: ExecutionCompleted(execution_id=name),
        lambda name: ExecutionFailed(execution_id=name, reason="it cannot be done"),
    ],
)
def test_what_going_back_leaves_beside_a_worktree_goes_once_its_execution_is_over(
    wrote: Wrote, ends: Callable[[str], Event]
) -> None:
    trees = patched(wrote.box).parent
    wrote.went_back()
    left = {name: trees / name for name in (".e1.before", ".e1.e2.dropped", ".e1.dropped.new")}
    for path in left.values():
        path.write_text("{}")
    foreign = trees / ".unknown.dropped"
    foreign.write_text("")

    wrote.write_code.on_start()
    kept = {path.name for path in trees.glob(".*")}
    wrote.box.record(ends("e1"))
    wrote.box.record(ends("e2"))
    wrote.write_code.on_start()

    marks = {".e1.dropped", *left}
    assert kept >= {*marks, foreign.name}
    assert {path.name for path in trees.glob(".*")} == kept - marks
    assert wrote.text()


# --- apply_patch


def test_a_patch_changes_the_worktree_and_later_calls_see_it(box: Toolbox) -> None:
    before = files_of(box.workspace)

    said = box.text("apply_patch", patch=FIX)

    assert said == "changed 1 file:\ncart.py\n"
    assert "result += price" in box.text("read_file", path="cart.py")
    assert "cart.py:4:" in box.text("search_code", pattern=r"\+= price")
    assert files_of(box.workspace) == before
    assert git(box.workspace, "status", "--porcelain") == "?? .cortex/\n" or not git(
        box.workspace, "status", "--porcelain"
    )


def test_what_a_patch_changes_belongs_to_the_next_commit(box: Toolbox) -> None:
    gone = "--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"
    moved = (
        "diff --git a/sub/a.txt b/sub/b.txt\nsimilarity index 100%\n"
        "rename from sub/a.txt\nrename to sub/b.txt\n"
    )

    for patch in (FIX, NEW, gone, moved):
        box.text("apply_patch", patch=patch)

    staged = git(patched(box), "diff", "--cached", "--name-status", "--no-renames").split()
    assert " ".join(staged) == "M cart.py A docs/new.md D old.txt D sub/a.txt A sub/b.txt"


@pytest.mark.parametrize(
    "patch",
    [
        f"```diff\n{FIX}```",
        f"```\n{FIX}\n```\n",
        FIX.replace("a/", "").replace("b/", ""),
        FIX.replace("@@ -2,4 +2,4 @@", "@@ -2,9 +2,7 @@"),
        FIX.rstrip("\n"),
    ],
    ids=["fenced", "fenced without a language", "no prefix", "wrong counts", "no last line end"],
)
def test_a_patch_is_taken_as_models_write_it(box: Toolbox, patch: str) -> None:
    box.text("apply_patch", patch=patch)

    assert "result += price" in (patched(box) / "cart.py").read_text()


def test_a_patch_that_touches_a_masked_span_is_not_applied(box: Toolbox) -> None:
    answer = box.call("apply_patch", patch=FIX.replace("result += price", "key = '⟦secret***⟧'"))

    assert isinstance(answer, ToolFailed)
    assert answer.kind == "masked"
    assert "the patch contains ⟦secret***⟧, the mask of a secret" in answer.error
    assert not patched(box).exists() or "⟦" not in (patched(box) / "cart.py").read_text()


def test_paths_start_at_the_workspace_wherever_it_is_in_the_checkout(tmp_path: Path) -> None:
    folder = repository(tmp_path / "work", {"sub/a.txt": "a\n", "a.txt": "top\n"})
    box = Toolbox(folder / "sub", tmp_path / ".cortex")

    said = box.text("apply_patch", patch="--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n")

    assert said == "changed 1 file:\na.txt\n"
    assert box.text("read_file", path="a.txt") == "1\tb\n"
    assert box.text("run_command", argv=["cat", "../a.txt"]) == "exit code 0\nstdout:\ntop\n"


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("please change cart.py", "that is not a unified diff"),
        ("", "that is not a unified diff"),
        (FIX.replace("result -= price", "nonsense"), "the patch does not apply: "),
        (FIX.replace("cart.py", "none.py"), "none.py: No such file or directory"),
        (FIX.replace("cart.py", "../x.py"), "'../x.py'"),
        (FIX.replace("b/cart.py", "b/../../x.py").replace("a/cart.py", "a/../../x.py"), "../x.py"),
        (NEW.replace("docs/new.md", ".git/hooks/x"), ".git"),
        (NEW.replace("100644", "120000"), "plain files only"),
        (NEW.replace("100644", "160000"), "plain files only"),
        (NEW + "GIT binary patch\n", "text files only"),
        (NEW.replace("docs/new.md", "out/new.md"), "beyond a symbolic link"),
    ],
)
def test_a_patch_that_may_not_be_made_changes_nothing(
    box: Toolbox, tmp_path: Path, patch: str, said: str
) -> None:
    (tmp_path / "outside").mkdir()
    (box.workspace / "out").symlink_to(tmp_path / "outside")
    git(box.workspace, "add", "out")
    git(box.workspace, "commit", "--quiet", "--message=link")

    error = box.error("apply_patch", patch=patch)

    assert said in error
    assert not list((tmp_path / "outside").iterdir())
    if patched(box).exists():
        assert git(patched(box), "status", "--porcelain") == ""


def test_a_patch_of_which_one_part_does_not_apply_is_not_applied_at_all(box: Toolbox) -> None:
    box.error("apply_patch", patch=NEW + FIX.replace("result -= price", "nonsense"))

    assert not (patched(box) / "docs").exists()


def test_a_patch_that_was_applied_before_the_runtime_ended_is_not_applied_again(
    box: Toolbox,
) -> None:
    answer = box.call("apply_patch", tries=2, patch=FIX)

    assert isinstance(answer, ToolReturned)
    assert answer.excerpt == "the patch is applied\n"
    assert (patched(box) / "cart.py").read_text().count("+= price") == 1


def test_a_workspace_that_is_no_checkout_is_not_patched(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "cart.py").write_text(CART)

    with_home = Toolbox(tmp_path / "plain", tmp_path / "home")
    without = Toolbox(tmp_path / "plain", None)

    assert "are not a git checkout" in with_home.error("apply_patch", patch=FIX)
    assert "there is no home" in without.error("apply_patch", patch=FIX)
    without.close()
    assert (tmp_path / "plain" / "cart.py").read_text() == CART


def test_calls_of_one_turn_do_not_get_into_each_others_way(box: Toolbox) -> None:
    patches = [NEW.replace("docs/new.md", f"docs/{n}.md") for n in range(6)]

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda patch: box.call("apply_patch", patch=patch), patches))

    assert [type(answer) for answer in answers] == [ToolReturned] * 6
    assert len(list((patched(box) / "docs").iterdir())) == 6


def test_files_are_read_while_the_worktree_is_made(box: Toolbox) -> None:
    def read(_: int) -> type:
        return type(box.call("read_file", path="cart.py"))

    with ThreadPoolExecutor(4) as pool:
        patched_by = pool.submit(box.call, "apply_patch", patch=FIX)
        kinds = set(pool.map(read, range(60)))

    assert isinstance(patched_by.result(), ToolReturned)
    assert kinds == {ToolReturned}


# --- run_command


def test_a_program_runs_in_the_worktree(box: Toolbox) -> None:
    before = files_of(box.workspace)
    box.text("apply_patch", patch=FIX)

    tests = box.text("run_command", argv=["python3", "-m", "unittest"])
    box.text("run_command", argv=["rm", "cart.py"])

    assert tests.startswith("exit code 0\n")
    assert files_of(box.workspace) == before


def test_a_program_that_fails_is_a_result_without_names_of_this_machine(box: Toolbox) -> None:
    said = box.text("run_command", argv="sh -c 'pwd; pwd >&2; exit 3'", folder="sub")

    assert said == "exit code 3\nstdout:\n./sub\nstderr:\n./sub\n"


def test_a_program_that_never_ends_is_ended(box: Toolbox) -> None:
    answer = box.call("run_command", argv=["sleep", "600"], within_s=0.5)

    assert isinstance(answer, ToolFailed)
    assert (answer.kind, answer.error) == ("timeout", "sleep was ended after 0.5 s")


def test_only_programs_that_the_configuration_allows_are_run(box: Toolbox) -> None:
    config = Config.parse('[handlers.shell]\nallow = ["make"]\n')
    strict = Toolbox(box.workspace, box.workspace / ".cortex", config)

    answer = strict.call("run_command", argv=["rm", "-r", "."])

    assert isinstance(answer, ToolDenied)
    assert "is not among the programs that config.toml allows (make)" in answer.reason


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"argv": ["no-such-program"]}, "cannot be started"),
        ({"argv": []}, "without words"),
        ({"argv": ["ls"], "folder": ".."}, "leads out"),
        ({"argv": ["ls"], "timeout_s": -1}, "expected a number > 0"),
    ],
)
def test_what_cannot_be_run_is_told(box: Toolbox, arguments: dict[str, object], said: str) -> None:
    assert said in box.error("run_command", **arguments)


def test_a_program_is_run_once_for_a_call(box: Toolbox) -> None:
    box.call("run_command", tries=3, argv=["sh", "-c", "echo once >> ran.txt"])

    assert (patched(box) / "ran.txt").read_text() == "once\n"


def test_a_program_gets_no_secrets(box: Toolbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "s3cret")

    assert "s3cret" not in box.text("run_command", argv=["env"])


def test_without_a_checkout_a_program_runs_in_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    box = Toolbox(tmp_path / "plain", None)

    assert box.text("run_command", argv=["touch", "x"]) == "exit code 0\n"
    box.close()
    assert [path.name for path in (tmp_path / "plain").iterdir()] == ["x"]

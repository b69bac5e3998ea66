"""A model's edits land in a worktree, whole or not at all; the user's files stay as they are."""

import os
import subprocess
from pathlib import Path

import pytest

from cortex.actors.handlers import WriteCode
from cortex.runtime.context import items_of

from .repair_world import (
    CART,
    CART_TEST,
    FIX,
    WRONG,
    Bench,
    done,
    files_of,
    git,
    only,
    refused,
    repository,
)

FILES = {"cart.py": CART, "test_cart.py": CART_TEST, "sub/inner.py": "value = 1\n"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return repository(tmp_path / "project", FILES)


@pytest.fixture
def bench(checkout: Path) -> Bench:
    return Bench(checkout, checkout)  # the home stands in the checkout, as it does for a project


def test_the_patch_is_in_the_worktree_and_nowhere_else(bench: Bench, checkout: Path) -> None:
    before = files_of(checkout)

    result = done(bench.write(FIX)).result

    assert (bench.worktree / "cart.py").read_text() == CART.replace("-=", "+=")
    assert files_of(checkout) == before
    assert git(checkout, "branch", "--show-current") == "main\n"
    assert result["branch"] == "cortex/e1"
    assert result["base"] == git(checkout, "rev-parse", "HEAD").strip()
    assert result["paths"] == ["cart.py"]


def test_the_diff_applies_and_is_what_later_steps_see(bench: Bench, checkout: Path) -> None:
    answered = done(bench.write(FIX))

    diff = bench.blobs.get(answered.result["diff_blob"])
    subprocess.run(["git", "-C", str(checkout), "apply", "--check"], input=diff, check=True)
    assert "+        result += price" in answered.result["diff"]
    assert [item.kind for item in items_of("implement_fix", answered.result)] == ["diff"]
    assert answered.summary == "1 file changed on cortex/e1: Add up"


def test_the_worktree_knows_no_path_of_this_machine_in_what_is_said(bench: Bench) -> None:
    answered = done(bench.write(FIX))

    assert str(bench.home.path) not in str(answered)
    assert str(bench.home.path) not in str(refused(bench.write({**FIX, "old": "no"})))


def test_an_attempt_starts_from_the_branch_again(bench: Bench) -> None:
    done(bench.write(WRONG, {"path": "left.py", "old": "", "new": "x = 1\n"}))
    (bench.worktree / "built").mkdir()
    (bench.worktree / "built" / "cart.o").write_text("stale")

    result = done(bench.write(FIX)).result

    assert result["paths"] == ["cart.py"]
    assert sorted(files_of(bench.worktree)) == sorted(FILES)


def test_the_same_request_twice_comes_to_the_same(bench: Bench) -> None:
    assert bench.write(FIX) == bench.write(FIX)


def test_files_and_folders_are_created(bench: Bench) -> None:
    result = done(bench.write({"path": "new/deep/a.py", "old": "", "new": "a = 1\n"})).result

    assert (bench.worktree / "new/deep/a.py").read_text() == "a = 1\n"
    assert result["paths"] == ["new/deep/a.py"]


def test_later_edits_see_what_earlier_ones_made(bench: Bench) -> None:
    again = {"path": "cart.py", "old": "+= price", "new": "+= abs(price)"}

    done(bench.write(FIX, again))

    assert "result += abs(price)" in (bench.worktree / "cart.py").read_text()


def test_a_mode_and_the_line_ends_stay(tmp_path: Path) -> None:
    checkout = repository(tmp_path / "p", {"run.sh": "#!/bin/sh\r\nexit 1\r\n"})
    (checkout / "run.sh").chmod(0o755)
    git(checkout, "commit", "--quiet", "--all", "--message=mode")
    bench = Bench(tmp_path, checkout)

    done(bench.write({"path": "run.sh", "old": "exit 1\n", "new": "exit 0\n"}))

    assert (bench.worktree / "run.sh").read_bytes() == b"#!/bin/sh\r\nexit 0\r\n"
    assert os.access(bench.worktree / "run.sh", os.X_OK)


def test_uncommitted_work_is_left_alone_and_said(bench: Bench, checkout: Path) -> None:
    (checkout / "cart.py").write_text("half done\n")
    (checkout / "notes.txt").write_text("mine\n")

    answered = done(bench.write(FIX))

    assert (checkout / "cart.py").read_text() == "half done\n"
    assert "(without 2 uncommitted paths of the checkout)" in answered.summary


def test_a_workspace_that_is_a_folder_of_the_checkout(checkout: Path) -> None:
    bench = Bench(checkout, checkout / "sub")

    result = done(bench.write({"path": "inner.py", "old": "1", "new": "2"})).result

    assert result["paths"] == ["sub/inner.py"]
    assert "leads out" in refused(bench.write({"path": "../cart.py", "old": "-=", "new": ""})).error


@pytest.mark.parametrize("path", ["cart.py", "lib/cart.py"])
def test_a_checkout_below_the_workspace_takes_the_names_of_either(
    path: str, tmp_path: Path
) -> None:
    repository(tmp_path / "work" / "lib", FILES)
    bench = Bench(tmp_path, tmp_path / "work")

    result = done(bench.write({**FIX, "path": path}, checkout="lib")).result

    assert result["paths"] == ["cart.py"]


def test_a_folder_of_the_checkout_that_is_called_as_it_is_keeps_its_files(tmp_path: Path) -> None:
    repository(tmp_path / "work" / "lib", {**FILES, "lib/cart.py": CART})
    bench = Bench(tmp_path, tmp_path / "work")

    result = done(bench.write({**FIX, "path": "lib/cart.py"}, checkout="lib")).result

    assert result["paths"] == ["lib/cart.py"]


def test_a_home_whose_worktree_lost_its_git_file_costs_the_user_nothing(
    bench: Bench, checkout: Path
) -> None:
    done(bench.write(FIX))
    (bench.worktree / ".git").unlink()
    (checkout / "mine.txt").write_text("not committed\n")
    (checkout / "cart.py").write_text("half done\n")

    done(bench.write(FIX))

    assert (checkout / "mine.txt").read_text() == "not committed\n"
    assert (checkout / "cart.py").read_text() == "half done\n"


def test_a_git_that_was_killed_and_left_its_lock_holds_up_nobody(
    bench: Bench, checkout: Path
) -> None:
    done(bench.write(WRONG))
    (checkout / ".git/worktrees/e1/index.lock").touch()

    assert done(bench.write(FIX)).result["paths"] == ["cart.py"]


def test_what_the_checkout_names_is_not_run(bench: Bench, checkout: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    for hook in ("post-checkout", "post-index-change", "pre-commit"):
        path = checkout / ".git/hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch '{ran}'\n")
        path.chmod(0o755)
    git(checkout, "config", "core.fsmonitor", f"touch '{ran}'; false")
    git(checkout, "config", "filter.f.smudge", f"touch '{ran}'; cat")
    git(checkout, "config", "diff.external", f"touch '{ran}'")
    (checkout / ".git/info").mkdir(exist_ok=True)
    (checkout / ".git/info/attributes").write_text("test_cart.py filter=f\n")

    done(bench.write(FIX))

    assert not ran.exists()


# refused


def test_nothing_is_written_unless_every_edit_applies(bench: Bench) -> None:
    bad = {"path": "test_cart.py", "old": "assertNotThere", "new": ""}

    failed = refused(bench.write(FIX, bad))

    assert failed.error.startswith("edit 2 of 'test_cart.py' does not apply: `old` is not in it")
    assert failed.retry
    assert (bench.worktree / "cart.py").read_text() == CART


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../outside.py", "leads out of the sources"),
        ("/etc/passwd", "is absolute"),
        (".git/hooks/pre-commit", "git's own folder"),
        ("link.py", "that is a symbolic link: name a file"),
        ("linked/a.py", "linked is a symbolic link, no folder"),
        ("out/a.py", "out is a symbolic link, no folder"),
        ("module/a.py", "it is a submodule"),
        ("image.bin", "the file is not UTF-8 text"),
        ("zero.txt", "the file is not UTF-8 text"),
        ("kept.lfs", "git keeps it through the filter 'lfs'"),
        ("sub", "that is a folder: name a file"),
        ("cart.py/a.py", "cart.py is a file, no folder"),
    ],
)
def test_what_may_not_be_edited_is_refused_in_one_line(
    path: str, reason: str, tmp_path: Path
) -> None:
    inner = repository(tmp_path / "inner", {"a.py": "a = 1\n"})
    checkout = repository(tmp_path / "project", FILES)
    (checkout / "image.bin").write_bytes(b"\xff\xd8\xff")
    (checkout / "zero.txt").write_bytes(b"a\0b")
    (checkout / "kept.lfs").write_text("pointer\n")
    (checkout / ".gitattributes").write_text("*.lfs filter=lfs\n")
    (checkout / "link.py").symlink_to("cart.py")
    (checkout / "linked").symlink_to("sub")
    (checkout / "out").symlink_to(tmp_path)
    git(checkout, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add",
        str(inner), "module")  # fmt: skip
    git(checkout, "add", "--all")
    git(checkout, "commit", "--quiet", "--message=odd")
    bench = Bench(tmp_path, checkout)

    failed = refused(bench.write({"path": path, "old": "", "new": "x = 1\n"}))

    assert reason in failed.error
    assert not (tmp_path / "outside.py").exists()
    assert not (tmp_path / "a.py").exists()


@pytest.mark.parametrize("new", ["a\0b", "\ud800"])
def test_what_is_no_text_is_not_written(new: str, bench: Bench) -> None:
    assert "`new` is not text" in refused(bench.write({**FIX, "new": new})).error


def test_edits_that_change_nothing_are_none(bench: Bench) -> None:
    failed = refused(bench.write({**FIX, "new": FIX["old"]}))

    assert failed.error == "the edits change nothing: the file already has `new`"


def test_no_edits_are_refused(bench: Bench) -> None:
    assert refused(bench.write()).error == "the model returned no edits: at least one is needed"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"text": "It is the minus."}, "the model returned no edits"),
        ({"data": {"edits": []}}, "missing required field `summary`"),
        ({"data": {"summary": "", "edits": [{"path": "a"}]}}, "missing required field `old`"),
    ],
)
def test_an_answer_without_edits_is_refused(
    answer: dict[str, object], reason: str, bench: Bench
) -> None:
    event = bench.event("write_code", "implement_fix", {}, answer=answer)

    failed = refused(only(bench.write_code.execute(event, bench.delivery(7))))

    assert reason in failed.error
    assert failed.retry


def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()

    failed = refused(Bench(tmp_path, tmp_path / "plain").write(FIX))

    assert failed.error.startswith("the sources are not a git checkout: ")
    assert not failed.retry


def test_a_checkout_without_commits_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "project")

    failed = refused(Bench(tmp_path, tmp_path / "project").write(FIX))

    assert failed.error == "the sources have no commits yet: make a first one, then resume"


def test_a_bare_repository_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "project.git")

    failed = refused(Bench(tmp_path, tmp_path / "project.git").write(FIX))

    assert failed.error == "the sources are a bare repository: name a checkout of it"


def test_a_workspace_that_is_gone_is_refused(tmp_path: Path) -> None:
    failed = refused(Bench(tmp_path, tmp_path / "gone").write(FIX))

    assert failed.error.startswith("the sources are not a folder")


def test_another_checkout_than_the_one_that_was_begun_with_is_refused(
    bench: Bench, tmp_path: Path
) -> None:
    done(bench.write(FIX))
    bench.workspace = repository(tmp_path / "other", FILES)

    assert "not those that this execution began to repair" in refused(bench.write(FIX)).error


def test_without_a_home_there_is_no_worktree(bench: Bench) -> None:
    event = bench.event("write_code", "s", {}, answer={"data": {"summary": "", "edits": [FIX]}})

    failed = refused(only(WriteCode(None, bench.blobs).execute(event, bench.delivery(7))))

    assert (failed.kind, failed.retry) == ("refused", False)


def test_an_edit_that_touches_a_masked_span_is_refused_and_the_model_may_try_again(
    bench: Bench,
) -> None:
    failed = refused(bench.write({**FIX, "new": "        result += price  # ⟦secret*⟧\n"}))

    assert failed.kind == "masked"
    assert failed.retry
    assert "edit 1 (cart.py) contains ⟦secret*⟧, the mask of a secret" in failed.error

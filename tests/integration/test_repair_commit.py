"""One commit a step, whatever happens in between; nobody's branch, remote or hook is in the way."""

from pathlib import Path

import pytest

from cortex.actors.handlers import CommitAndPush
from cortex.bus import FORMAT, Draft, Recorded
from cortex.bus.events import VOCABULARY, StepCompleted, StepExecute
from cortex.runtime.kernel import Config
from cortex.runtime.models import ModelConfig, ModelsConfig

from .repair_world import (
    CART,
    CART_TEST,
    FIX,
    Bench,
    done,
    files_of,
    git,
    only,
    refused,
    repository,
)

FILES = {"cart.py": CART, "test_cart.py": CART_TEST}
BRANCH = "cortex/e1"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return repository(tmp_path / "project", FILES)


@pytest.fixture
def bench(tmp_path: Path, checkout: Path) -> Bench:
    return Bench(tmp_path, checkout)


def commits(checkout: Path, branch: str = BRANCH) -> list[str]:
    return git(checkout, "log", "--format=%s", f"main..{branch}").splitlines()


def test_the_patch_becomes_one_commit_with_the_execution_in_it(
    bench: Bench, checkout: Path
) -> None:
    before = files_of(checkout)
    done(bench.write(FIX))

    answered = done(bench.commit(message="Add up"))

    result = answered.result
    assert result == {
        "commit": git(checkout, "rev-parse", BRANCH).strip(),
        "branch": BRANCH,
        "pushed": False,
    }
    assert commits(checkout) == ["Add up"]
    trailers = git(checkout, "log", "-1", "--format=%(trailers)", BRANCH)
    assert trailers.strip() == "Cortex-Execution: e1\nCortex-Step: commit"
    assert git(checkout, "show", f"{BRANCH}:cart.py") == CART.replace("-=", "+=")
    assert files_of(checkout) == before
    assert git(checkout, "status", "--porcelain") == ""
    assert answered.summary == f"{result['commit'][:12]} on {BRANCH}"


def test_the_worktree_is_gone_and_the_branch_stays(bench: Bench, checkout: Path) -> None:
    done(bench.write(FIX))

    done(bench.commit())

    assert not bench.worktree.exists()
    assert len(git(checkout, "worktree", "list").splitlines()) == 1
    assert git(checkout, "branch", "--list", BRANCH).strip() == BRANCH


def test_the_same_request_twice_makes_one_commit(bench: Bench, checkout: Path) -> None:
    done(bench.write(FIX))

    first, second = bench.commit(), bench.commit()

    assert first == second
    assert len(commits(checkout)) == 1


def test_a_runtime_killed_after_the_commit_finds_it(bench: Bench, checkout: Path) -> None:
    done(bench.write(FIX))
    message = "Add up\n\nCortex-Execution: e1\nCortex-Step: commit\n"
    git(bench.worktree, "commit", "--quiet", "--message", message)

    result = done(bench.commit()).result

    assert result["commit"] == git(checkout, "rev-parse", BRANCH).strip()
    assert len(commits(checkout)) == 1
    assert not bench.worktree.exists()


def test_a_runtime_killed_while_it_staged_commits_once(bench: Bench, checkout: Path) -> None:
    done(bench.write(FIX))
    git(checkout, "branch", "--move", BRANCH, "repair/cart")

    done(bench.commit(branch="repair/cart"))

    assert len(commits(checkout, "repair/cart")) == 1


def test_what_the_tests_left_behind_is_not_committed(bench: Bench, checkout: Path) -> None:
    done(bench.write(FIX))
    (bench.worktree / "cart.o").write_text("built")

    done(bench.commit())

    assert git(checkout, "show", "--format=", "--name-only", BRANCH) == "cart.py\n"


def test_everything_is_committed_where_that_is_asked_for(bench: Bench, checkout: Path) -> None:
    done(bench.write(FIX))
    (bench.worktree / "formatted.py").write_text("a = 1\n")

    done(bench.commit(everything=True))

    names = git(checkout, "show", "--format=", "--name-only", BRANCH)
    assert names == "cart.py\nformatted.py\n"


def test_a_second_step_makes_a_second_commit(bench: Bench, checkout: Path) -> None:
    done(bench.write(FIX))
    done(bench.commit(message="one"))
    done(bench.write({"path": "new.py", "old": "", "new": "a = 1\n"}))

    done(bench.commit("commit_again", message="two"))

    assert commits(checkout) == ["two", "one"]


def test_the_message_is_what_was_said_of_the_change(bench: Bench, checkout: Path) -> None:
    event = StepExecute(execution_id="e1", step_id="fix", action="write_code")
    said = StepCompleted(execution_id="e1", step_id="fix", result={"summary": "Add, not subtract"})
    records = [_recorded(n, draft) for n, draft in enumerate(map(Draft.of, (event, said)), 1)]
    handler = CommitAndPush(bench.home, VOCABULARY, lambda _stream: iter(records), Config())
    done(bench.write(FIX))

    done(only(handler.execute(bench.event("commit_and_push", "c", {}), bench.delivery(9))))

    assert commits(checkout) == ["Add, not subtract"]


def test_without_anything_said_the_goal_is_the_message(bench: Bench, checkout: Path) -> None:
    done(bench.write(FIX))

    done(bench.commit())

    assert commits(checkout) == ["Make the build green"]


def test_the_commit_gets_another_branch(bench: Bench, checkout: Path) -> None:
    done(bench.write(FIX))

    result = done(bench.commit(branch="repair/cart")).result

    assert result["branch"] == "repair/cart"
    assert len(commits(checkout, "repair/cart")) == 1
    assert git(checkout, "branch", "--list", BRANCH) == ""


@pytest.mark.parametrize(
    ("branch", "reason"),
    [
        ("main", "get no commit on main, which is checked out: name another branch"),
        ("taken", "have a branch taken already: name a new one"),
        ("a..b", "is not a name for a branch"),
        ("--force", "is not a name for a branch"),
    ],
)
def test_a_branch_of_somebody_else_is_refused(
    branch: str, reason: str, bench: Bench, checkout: Path
) -> None:
    git(checkout, "branch", "taken")
    done(bench.write(FIX))

    failed = refused(bench.commit(branch=branch))

    assert reason in failed.error
    assert git(checkout, "rev-parse", "main") == git(checkout, "rev-parse", "taken")
    assert bench.worktree.exists()


def test_without_a_change_there_is_nothing_to_commit(bench: Bench) -> None:
    failed = refused(bench.commit())

    assert failed.error.startswith("the sources hold nothing to commit")
    assert (failed.kind, failed.retry) == ("refused", False)


def test_without_a_name_to_commit_under_it_is_said(
    bench: Bench, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    git(checkout, "config", "--unset", "user.name")
    git(checkout, "config", "--unset", "user.email")
    done(bench.write(FIX))

    failed = refused(bench.commit())

    assert failed.error.startswith("git commit: no name to commit under: set one with `git config")
    assert bench.worktree.exists()


def hook(checkout: Path, name: str, script: str) -> None:
    path = checkout / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_hooks_run_only_where_that_is_asked_for(bench: Bench, checkout: Path) -> None:
    hook(checkout, "pre-commit", "echo the linter says no >&2; exit 1")
    done(bench.write(FIX))

    failed = refused(bench.commit(hooks=True))
    made = done(bench.commit())

    assert failed.error == "git commit: the linter says no"
    assert made.result["branch"] == BRANCH


def test_no_hook_gets_the_key_of_a_model(
    tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = "WHERE_THE_MODEL_IS"  # no word in it says that it holds a key
    monkeypatch.setenv(plain, "sk-secret")
    away = ModelConfig(name="m", provider="openai", base_url="http://127.0.0.1:9/v1", key_env=plain)
    bench = Bench(tmp_path, checkout, Config(models=ModelsConfig(use=(away,))))
    git(tmp_path, "init", "--quiet", "--bare", "remote.git")
    git(checkout, "remote", "add", "origin", str(tmp_path / "remote.git"))
    for name in ("pre-commit", "pre-push"):
        hook(checkout, name, f"env > '{tmp_path}/{name}.env'")
    done(bench.write(FIX))

    done(bench.commit(hooks=True, push=True))

    for name in ("pre-commit", "pre-push"):
        given = (tmp_path / f"{name}.env").read_text()
        assert "HOME=" in given
        assert plain not in given


# push


@pytest.fixture
def remote(tmp_path: Path, checkout: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--bare", "remote.git")
    git(checkout, "remote", "add", "origin", str(tmp_path / "remote.git"))
    return tmp_path / "remote.git"


def test_it_is_pushed_when_told(bench: Bench, checkout: Path, remote: Path) -> None:
    done(bench.write(FIX))

    answered = done(bench.commit(push=True))

    assert answered.result["pushed"] is True
    assert git(remote, "rev-parse", BRANCH) == git(checkout, "rev-parse", BRANCH)


def test_pushing_twice_comes_to_the_same(bench: Bench, checkout: Path, remote: Path) -> None:
    done(bench.write(FIX))

    assert bench.commit(push=True) == bench.commit(push=True)
    assert git(remote, "for-each-ref", "--format=%(refname)") == f"refs/heads/{BRANCH}\n"


def test_a_commit_whose_push_failed_is_pushed_by_the_next_try(
    bench: Bench, checkout: Path, remote: Path
) -> None:
    away = remote.rename(remote.with_name("away.git"))
    done(bench.write(FIX))
    failed = refused(bench.commit(push=True))
    away.rename(remote)

    result = done(bench.commit(push=True)).result

    assert failed.error.startswith("git push: ")
    assert failed.retry
    assert git(remote, "rev-parse", BRANCH).strip() == result["commit"]
    assert len(commits(checkout)) == 1


def test_what_a_remote_has_is_never_overwritten(bench: Bench, checkout: Path, remote: Path) -> None:
    git(checkout, "commit", "--quiet", "--allow-empty", "--message=theirs")
    git(checkout, "push", "--quiet", "origin", f"HEAD:refs/heads/{BRANCH}")
    theirs = git(remote, "rev-parse", BRANCH)
    git(checkout, "reset", "--quiet", "--hard", "HEAD~1")
    done(bench.write(FIX))

    failed = refused(bench.commit(push=True))

    assert failed.error.startswith("git push: ")
    assert git(remote, "rev-parse", BRANCH) == theirs


def test_a_remote_that_is_not_there_is_refused(bench: Bench) -> None:
    done(bench.write(FIX))

    failed = refused(bench.commit(push=True, remote="--upload-pack=touch x"))

    assert "have no remote '--upload-pack=touch x', none: name one that exists" in failed.error


def test_a_password_in_the_address_of_a_remote_is_not_said(bench: Bench, checkout: Path) -> None:
    git(checkout, "remote", "add", "origin", "http://ada:hunter2@127.0.0.1:9/x.git")
    done(bench.write(FIX))

    failed = refused(bench.commit(push=True))

    assert "hunter2" not in failed.error


def _recorded(n: int, draft: Draft) -> Recorded:
    return Recorded(
        FORMAT, n, draft.stream, n, n.to_bytes(16, "big"), n, draft.topic, draft.schema,
        None, None, "tests", draft.key, None, draft.body,
    )  # fmt: skip

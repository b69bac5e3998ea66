"""A path of the workspace leads nowhere else, whatever a step, a model or a link says."""

from contextlib import suppress
from pathlib import Path as PlainPath

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cortex.runtime.functions import Path, Step, StepError, action
from cortex.runtime.testing import Stated, run_action


class Asked(msgspec.Struct):
    path: Path
    others: list[Path] = []
    maybe: Path | None = None


@action("where", effect="read")
def where(asked: Asked, step: Step) -> list[str]:
    """Where the paths lead."""
    paths = [asked.path, *asked.others, *([asked.maybe] if asked.maybe else [])]
    return [str(path.relative_to(step.root)) for path in paths]


@action("same", effect="read")
def same(path: Path) -> Path:
    """It."""
    return path


@pytest.fixture
def workspace(tmp_path: PlainPath) -> PlainPath:
    folder = tmp_path / "work"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").touch()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").touch()
    (folder / "in").symlink_to("sub")
    (folder / "out").symlink_to(tmp_path / "outside")
    (folder / "file").symlink_to(tmp_path / "outside" / "secret")
    (folder / "chain").symlink_to("out/secret")
    (folder / "round").symlink_to("round")
    return folder


@pytest.mark.parametrize(
    ("named", "place"),
    [
        ("a.txt", "a.txt"),
        ("sub/../a.txt", "a.txt"),
        ("in/new.txt", "sub/new.txt"),
        (".", "."),
        ("", "."),
        ("gone/b.txt", "gone/b.txt"),
    ],
)
def test_a_path_starts_at_the_workspace(workspace: PlainPath, named: str, place: str) -> None:
    assert run_action(where, {"path": named}, Stated(workspace=workspace)) == [place]


def test_an_absolute_path_in_the_workspace_is_one_of_its(workspace: PlainPath) -> None:
    given = {"path": str(workspace / "a.txt"), "others": ["sub"], "maybe": "in"}

    assert run_action(where, given, Stated(workspace=workspace)) == ["a.txt", "sub", "sub"]


@pytest.mark.parametrize(
    "named",
    ["..", "../outside", "/etc/passwd", "out", "out/secret", "file", "chain", "in/../../outside"],
)
def test_what_leads_out_is_refused_in_one_line(workspace: PlainPath, named: str) -> None:
    for fields in ({"path": named}, {"path": "", "others": [named]}, {"path": "", "maybe": named}):
        with pytest.raises(StepError) as raised:
            run_action(where, fields, Stated(workspace=workspace))

        assert str(raised.value) == f"{named!r} leads out of the workspace: name a path in it"
        assert (raised.value.kind, raised.value.retry) == ("refused", False)


def test_what_is_no_path_is_refused_in_one_line(workspace: PlainPath) -> None:
    with pytest.raises(StepError) as raised:
        run_action(where, {"path": "a\0b"}, Stated(workspace=workspace))

    assert str(raised.value).startswith("'a\\x00b' is not a path in the workspace: ")


@given(st.text(max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_whatever_is_named_is_inside_or_refused(workspace: PlainPath, named: str) -> None:
    with suppress(StepError):
        (place,) = run_action(where, {"path": named}, Stated(workspace=workspace))
        assert (workspace / place).resolve().is_relative_to(workspace.resolve())


def test_without_a_workspace_there_is_no_path() -> None:
    with pytest.raises(StepError, match="has no workspace: start it with --workspace"):
        run_action(where, {"path": "a.txt"})


@action("plainly", effect="read")
def plainly(path: PlainPath) -> bool:
    """Whether it is there."""
    return path.exists()


def test_a_path_of_pathlib_is_kept_inside_as_well(workspace: PlainPath) -> None:
    assert run_action(plainly, {"path": "a.txt"}, Stated(workspace=workspace)) is True
    with pytest.raises(StepError, match="leads out of the workspace"):
        run_action(plainly, {"path": "file"}, Stated(workspace=workspace))


@action("elsewhere", effect="read")
def elsewhere() -> list[PlainPath]:
    """Somewhere else."""
    return [PlainPath("/etc"), PlainPath("a.txt")]


def test_a_result_names_any_other_path_as_it_is(workspace: PlainPath) -> None:
    for stated in (Stated(), Stated(workspace=workspace)):
        assert run_action(elsewhere, stated=stated) == ["/etc", "a.txt"]


def test_a_result_names_a_path_from_the_workspace(workspace: PlainPath) -> None:
    assert run_action(same, {"path": "in/b.txt"}, Stated(workspace=workspace)) == "sub/b.txt"

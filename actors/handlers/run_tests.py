"""The action `run_tests`: runs the tests of the sources, where the change is."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import TimeoutExpired

import msgspec

from cortex.bus import steady_s
from cortex.bus.events import StepExecute
from cortex.runtime.code.programs import (
    EffectInterruptedError,
    Effects,
    History,
    ProgramError,
    ProgramOutcome,
    ProgramRefusedError,
    ProgramTimeoutError,
    Seconds,
    Waiters,
    argv_of,
    run_program,
)
from cortex.runtime.code.repair import (
    PYTHONS,
    TESTS_FAILED,
    RepairError,
    TestOutput,
    branch_of,
    changed_since,
    find_command,
    find_worktree,
    folder_of,
    fresh_worktree,
    head_of,
    looked_at,
    owner_of,
    read_output,
    sources_at,
    tree_of,
    work_tree,
)
from cortex.runtime.context import Offer, cut_middle
from cortex.runtime.functions import ActionStep, StepError, action
from cortex.runtime.kernel import Component, Config, Home, key_names, many
from cortex.runtime.log import Blobs
from cortex.runtime.secrets import Mask

LARGEST_BYTES = 1 << 20  # of a file that is searched for the command
FILES = 2_000  # of a folder that are searched
SUMMARY_CHARS = 300
DIFF_CHARS = 1_500  # of the change, shown beside the output of its tests
TRIED = "The change that these tests ran on, and which is dropped when it is tried again:"
TRIES = 3  # attempts, if the run is killed
UNKNOWN = (
    "the files do not say how the tests are run: name it, as in `with: {command: [make, check]}`"
)


class RunTestsParameters(msgspec.Struct, frozen=True):
    """Run the tests where the change stands, and read what they say."""

    command: str | list[str] = []  # words, or one text, split as a shell would; []: Cortex finds it
    checkout: str = ""  # its folder, absolute or relative to the workspace; "": the workspace
    timeout_s: Seconds | None = None  # null: the limit of the configuration
    must_pass: bool = False  # True: a failing test fails the step
    env: list[str] = []  # names of further environment variables that the tests get


class RunTestsResult(msgspec.Struct, frozen=True):
    """What `run_tests` gives."""

    passed: bool
    exit_code: int
    command: list[str]  # that ran
    failed: list[str]  # names of failing tests, the likeliest cause first; or what else failed
    excerpt: str  # the most informative lines of the output
    output: str  # digest of the blob with the last MiB of the output
    seconds: float
    context: list[Offer]  # the excerpt
    tree: str = ""  # digest of the tested files; "" if they changed while the tests ran
    changed: list[str] = []  # some of the files that changed while the tests ran


class RunTests(Component):
    """Runs tests in the execution's worktree, or in the workspace if there is no worktree."""

    rests = True
    workers = 2

    def __init__(
        self,
        config: Config,
        blobs: Blobs,
        home: Home | None,
        history: History | None = None,
        mask: Mask | None = None,
    ) -> None:
        self._mask = mask
        self._settings = config.handlers.shell
        self._hidden = key_names(config)
        self._named = config.programs.environment
        self._blobs = blobs
        self._home = home
        self._waiters = Waiters(history)

    @action("run_tests", effect="idempotent", programs=["command"])
    def execute(self, asked: RunTestsParameters, step: ActionStep) -> RunTestsResult:
        """Run them, and read their output."""
        event = step.event
        timeout_s = min(asked.timeout_s or self._settings.timeout_s, event.timeout_s)
        began_s = steady_s()
        try:
            place = Path(event.workspace or ".", asked.checkout).absolute()
            folder, root = self._folder(event, place)
            began_ns = time.time_ns()
            argv = argv_of(asked.command or _found(folder, place), self._settings.allow)
            passed = (*self._named, *asked.env)
            outcome = self._run(
                step, lambda key: self._start(step, key, argv, str(folder), timeout_s, passed)
            )
        except EffectInterruptedError as error:
            raise StepError(str(error), kind=error.kind, retry=False) from error
        except ProgramTimeoutError as error:
            raise StepError.of(error, f"the tests took too long: {error}") from error
        except (ProgramError, RepairError) as error:
            raise StepError.of(error) from error
        seconds = round(steady_s() - began_s, 3)
        result = self._ended(step, argv, outcome, root, seconds, asked.must_pass)
        return self._with_tree(event, result, root, began_ns)

    def _folder(self, event: StepExecute, place: Path) -> tuple[Path, Path]:
        """The folder to run them in, and the root of paths in their output."""
        if self._home is None:
            return place, place
        if event.worktree:
            work_tree(self._home, event)
        root = folder_of(self._home.path, owner_of(event))
        tree = find_worktree(root, event.timeout_s)
        try:
            sources = sources_at(place, event.timeout_s)
        except RepairError:
            if tree is not None or event.worktree:
                raise
            return place, place  # sources to test need not be a checkout
        if tree is None:
            branch = branch_of(owner_of(event))
            if not head_of(sources.git, branch):
                return place, place
            fresh_worktree(sources, root, branch)  # it was committed, and its worktree removed
        return root / sources.prefix, root

    def _with_tree(
        self, event: StepExecute, result: RunTestsResult, root: Path, began_ns: int
    ) -> RunTestsResult:
        """The digest of the tested files at the end, if none changed meanwhile."""
        home = self._home.path if self._home else None
        try:
            changed = changed_since(root, began_ns, event.timeout_s)
            tree = "" if changed else tree_of(root, home)
        except (RepairError, TimeoutExpired) as error:
            problem = f"the digest of the tested files cannot be taken: {error}"
            raise StepError(problem, retry=False) from error
        return msgspec.structs.replace(result, tree=tree, changed=changed)

    def _shown(self, event: StepExecute, said: TestOutput) -> str:
        """The information for a retry: the output of the tests, and the tested change."""
        if self._home is None:
            return said.excerpt
        try:
            tree = find_worktree(folder_of(self._home.path, owner_of(event)), event.timeout_s)
            diff = tree.diff() if tree else ""
        except RepairError:
            diff = ""  # the run is kept without it
        # It is git's output: bytes that are not text are only for people.
        shown = diff.encode(errors="surrogateescape").decode(errors="replace")
        told = (said.excerpt.rstrip(), TRIED, cut_middle(shown, DIFF_CHARS))
        return "\n".join(told) if shown else said.excerpt

    def _run(self, step: ActionStep, start: Callable[[str], ProgramOutcome]) -> ProgramOutcome:
        """Run them to their end; a killed run proves nothing, so it is repeated."""
        for n in range(TRIES - 1):
            with contextlib.suppress(EffectInterruptedError):
                return start(step.effect_key(n))
        return start(step.effect_key(TRIES - 1))

    def _start(
        self,
        step: ActionStep,
        key: str,
        argv: tuple[str, ...],
        folder: str,
        timeout_s: float,
        passed: tuple[str, ...],
    ) -> ProgramOutcome:
        wanted = self._waiters.wait_for(step.event, step.delivery)
        if self._home is None:
            return run_program(
                argv, folder, timeout_s, passed=passed, hidden=self._hidden, wanted=wanted
            )
        effects = Effects(self._home.path / "effects", self._mask)
        return effects.run(
            key,
            argv,
            folder,
            timeout_s,
            passed=passed,
            hidden=self._hidden,
            wanted=wanted,
            stream=step.event.stream(),
        )

    def _ended(
        self,
        step: ActionStep,
        argv: tuple[str, ...],
        outcome: ProgramOutcome,
        root: Path,
        seconds: float,
        must_pass: bool,
    ) -> RunTestsResult:
        output = outcome.stdout + outcome.stderr
        said = read_output(output, root)
        passed = outcome.exit_code == 0 and not said.nothing
        if must_pass and not passed:
            shown = self._shown(step.event, said)
            raise StepError(_problem(outcome.exit_code, said), kind=TESTS_FAILED, excerpt=shown)
        failing = [] if passed else said.failed
        step.summary = _summary(passed, said)
        return RunTestsResult(
            passed=passed,
            exit_code=outcome.exit_code,
            command=list(argv),
            failed=failing,
            excerpt=said.excerpt,
            output=self._blobs.put(output),
            seconds=seconds,
            context=[Offer(kind="evidence", text=said.excerpt)] if said.excerpt else [],
        )


def _problem(exit_code: int, said: TestOutput) -> str:
    if not said.failed:
        what = "no test was run" if said.nothing else f"the tests ended with {exit_code}"
        return f"{what}: {said.first}"
    return f"{many(len(said.failed), 'failure')}: {said.first}"


def _summary(passed: bool, said: TestOutput) -> str:
    if passed:
        return "the tests pass"
    return f"red: {'no test was run' if said.nothing else said.first}"[:SUMMARY_CHARS]


def _found(folder: Path, place: Path) -> tuple[str, ...]:
    """The test command that the files in *folder* show; the user's interpreter is at *place*."""

    def read(name: str) -> str:
        try:
            with (folder / name).open("rb") as file:
                return file.read(LARGEST_BYTES).decode(errors="replace")
        except OSError:
            return ""

    pythons = [str(place / name) for name in PYTHONS if (place / name).is_file()]
    words = find_command(_names(folder), read, *pythons[:1])
    if not words:
        raise ProgramRefusedError("run_tests", UNKNOWN)
    return words


def _names(folder: Path) -> Iterator[str]:
    try:
        entries = sorted(folder.iterdir())
        for entry in entries:
            if entry.is_file():
                yield entry.name
            elif looked_at(entry.name) and entry.is_dir():
                inside = sorted(entry.iterdir())[:FILES]
                yield from (f"{entry.name}/{e.name}" for e in inside if e.is_file() or e.is_dir())
    except OSError as error:
        problem = f"cannot look into {folder.name or folder}: {error.strerror}"
        raise ProgramRefusedError("run_tests", problem) from None

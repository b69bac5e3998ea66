"""Gates on what work begins with: a context to run in, a file, a model that meets its needs."""

import stat
from pathlib import Path
from typing import Literal

import msgspec

from cortex.bus import Blobs, Vocabulary
from cortex.runtime.directives import allowed_models, wanted_model
from cortex.runtime.functions import GateStep, StepError, Verdict, gate
from cortex.runtime.kernel import Component, Config
from cortex.runtime.models import Level, announced_models, select, without_stand_ins
from cortex.runtime.registry import MODEL, STREAM, registry_of

from .directives import Directed, History

SHOWN = 200  # characters of a path that cannot be


class ExecutionContextExists(Component):
    """Passes if the execution has a recorded trigger, a goal and a workspace."""

    rests = True

    @gate("execution_context_exists")
    def evaluate(self, step: GateStep) -> Verdict:
        """Name what is missing, if anything is."""
        event = step.event
        missing = [
            name
            for name, there in (
                ("trigger", bool(event.trigger)),
                ("goal", bool(event.goal)),
                ("workspace", _is_folder(event.workspace)),
            )
            if not there
        ]
        evidence = {"trigger": event.trigger, "goal": event.goal, "workspace": event.workspace}
        if missing:
            how = " (`--goal TEXT`)" if "goal" in missing else ""
            lacks = " and no ".join(missing)
            reason = f"the execution has no {lacks}: start another with one{how}"
            return Verdict.failed(reason, **evidence)
        return Verdict.passed(**evidence)


def _is_folder(workspace: str) -> bool:
    try:
        return bool(workspace) and Path(workspace).is_dir()
    except OSError:  # forbidden, or longer than a path can be
        return False


class FileExistsParameters(msgspec.Struct, frozen=True):
    """What `file_exists` takes."""

    path: str  # absolute or relative to the workspace


class FileExists(Component):
    """Passes if the path names a file or a folder."""

    rests = True

    @gate("file_exists")
    def evaluate(self, asked: FileExistsParameters, step: GateStep) -> Verdict:
        """Look."""
        path = Path(step.event.workspace or ".", asked.path)
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return Verdict.failed(f"{path} is not there: make it, then resume", path=str(path))
        except (OSError, ValueError) as error:  # ValueError: no path holds a zero byte
            reason = getattr(error, "strerror", None) or str(error)
            problem = f"{asked.path[:SHOWN]!r} cannot be looked at: {reason}"
            raise StepError(problem) from None
        return Verdict.passed(path=str(path), kind="folder" if stat.S_ISDIR(mode) else "file")


class ModelNeeds(msgspec.Struct, frozen=True, omit_defaults=True):
    """The requirements of a step for its model, as written under `needs:`."""

    reasoning: Level | None = None  # at least this level
    code: Level | None = None  # at least this level
    speed: Level | None = None  # at least this level
    # "local": only a model on this machine
    sensitivity: Literal["public", "internal", "local"] | None = None
    context_tokens: int | None = None  # the smallest window


class ModelAvailableParameters(msgspec.Struct, frozen=True):
    """What `model_available` takes."""

    needs: ModelNeeds = ModelNeeds()  # as a step has them under `needs:`


class ModelAvailable(Directed):
    """Passes if a configured model meets the needs, and nobody prohibited it."""

    def __init__(
        self, config: Config, history: History, blobs: Blobs, vocabulary: Vocabulary | None = None
    ) -> None:
        super().__init__(history, blobs, vocabulary)
        self._config = config

    @gate("model_available")
    def evaluate(self, asked: ModelAvailableParameters, step: GateStep) -> Verdict:
        """Select one, as the step would."""
        records = (each for each in self._history(STREAM) if each.key == MODEL)
        announced = announced_models(registry_of(records, self._vocabulary.read))
        in_force = self.in_force(self.load(step.event.execution_id))
        needs, default = msgspec.to_builtins(asked.needs), self._config.models.default
        models, prohibited = allowed_models(in_force, without_stand_ins(announced, needs, default))
        if prohibited and not models:
            reason = f"no model may answer: {'; '.join(prohibited)}"
            return Verdict.failed(reason, needs=needs, prohibited=prohibited)
        selected = select(models, needs, wanted_model(in_force, models)[0] or default)
        if isinstance(selected, str):
            reason = "; ".join((selected, *prohibited))
            return Verdict.failed(f"{reason}: add a model to config.toml", needs=needs)
        model, others = selected.model.name, list(selected.runners_up)
        return Verdict.passed(model=model, because=selected.because, runners_up=others)

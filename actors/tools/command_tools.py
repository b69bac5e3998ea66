"""The tool that runs programs, in the worktree of an execution."""

from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from cortex.bus import Event
from cortex.bus.events import ToolCall
from cortex.runtime.code.programs import (
    EffectInterruptedError,
    History,
    ProgramError,
    ProgramOutcome,
    ProgramRefusedError,
    Programs,
    ProgramTimeoutError,
    ProgramUnwantedError,
    Seconds,
    argv_of,
)
from cortex.runtime.functions import ToolStep
from cortex.runtime.kernel import Component, Config, Delivery, Home, Serves, on
from cortex.runtime.log import Blobs
from cortex.runtime.secrets import Mask

from .carrying import carry_out
from .declaring import tool
from .errors import ToolError, ToolRefusedError, ToolUnknownError
from .places import Places

PROVIDER = "commands"


class RunCommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `run_command` takes."""

    argv: Annotated[
        list[str] | str,
        Meta(description='the program and its words, as `["make", "check"]`; there is no shell'),
    ]
    folder: Annotated[str, Meta(description="where it runs, relative to the workspace")] = ""
    timeout_s: Annotated[Seconds | None, Meta(description="seconds that it may take")] = None


class CommandTools(Component):
    """Runs programs; a program that ran for a call does not run again for it."""

    rests = True
    recovers = True  # the small process beside each program records its end
    workers = 4

    @classmethod
    def announces(cls, config: Config) -> tuple[Serves, ...]:
        """The tool, with the effect that its programs have in this home."""
        effect = config.tools.commands.effect
        return tuple(msgspec.structs.replace(each, effect=effect) for each in cls.serves)

    def __init__(
        self,
        config: Config,
        blobs: Blobs,
        home: Home | None,
        history: History | None = None,
        mask: Mask | None = None,
    ) -> None:
        self._again = config.tools.commands.effect != "once"
        self._blobs = blobs
        self._places = Places(home, history)
        self._programs = Programs(config, home, history, mask)

    def on_stop(self) -> None:
        """Remove everything if there is no home."""
        self._programs.close()

    @on(ToolCall, where={"provider": PROVIDER})
    def call(self, event: ToolCall, delivery: Delivery) -> Iterator[Event]:
        """Use one of them."""
        yield from carry_out(self, event, delivery, self._blobs)

    @tool("run_command", provider=PROVIDER, effect="once")
    def run_command(self, asked: RunCommand, step: ToolStep) -> str:
        """Run a program and get its exit code and the end of what it said."""
        event, programs = step.event, self._programs
        if step.begun and not programs.are_kept:
            raise ToolUnknownError("a worker without a home began it, and kept no record of it")
        limit_s = min(programs.timeout_s, event.timeout_s)
        timeout_s = min(asked.timeout_s or limit_s, limit_s)
        try:
            argv = argv_of(asked.argv, programs.allow)
        except ProgramRefusedError as error:
            raise ToolRefusedError(str(error)) from None
        place = self._places.make(event)
        folder = place.file(asked.folder or ".")
        try:
            outcome = programs.effects.run(
                step.effect_key(),
                argv,
                str(folder),
                timeout_s,
                passed=programs.named,
                hidden=programs.hidden,
                wanted=programs.wait_for(event, step.delivery),
                again=self._again,
                stream=event.stream(),
            )
        except ProgramTimeoutError as error:
            raise ToolError(str(error), "timeout") from None
        except EffectInterruptedError as error:
            if self._again:
                raise ToolError(str(error), "interrupted") from None
            raise ToolUnknownError(str(error)) from None
        except ProgramUnwantedError as error:
            raise ToolError(str(error), "interrupted") from None
        except ProgramError as error:  # the program was not started
            raise ToolError(str(error)) from None
        step.summary = f"{argv[0]} ended with {outcome.exit_code}"
        return place.plain(_said(outcome))


def _said(outcome: ProgramOutcome) -> str:
    parts = [f"exit code {outcome.exit_code}\n"]
    for name, data in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
        text = data.decode(errors="replace")
        if text.strip():
            parts.append(f"{name}:\n{text if text.endswith(chr(10)) else text + chr(10)}")
    return "".join(parts)

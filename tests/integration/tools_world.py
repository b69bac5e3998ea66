"""The built-in tools in one home, called as a model's calls are."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cortex.actors.tools import CommandTools, FileTools, KnowledgeTools
from cortex.bus import Draft, Event, Recorded
from cortex.bus.events import VOCABULARY, ToolCall, ToolDenied, ToolFailed, ToolReturned
from cortex.runtime.kernel import Config, Delivery, Home
from cortex.runtime.log import MemoryBlobs

NOON_NS = 1_700_000_000_000_000_000
PROVIDERS = {
    "read_file": "files",
    "search_code": "files",
    "read_result": "files",
    "apply_patch": "files",
    "run_command": "commands",
    "find_knowledge": "knowledge",
}
Answer = ToolReturned | ToolFailed | ToolDenied


class Toolbox:
    """One execution and its tools."""

    def __init__(self, workspace: Path, home: Path | None, config: Config | None = None) -> None:
        self.workspace = workspace
        self.home = Home.create(home) if home else None
        self.blobs = MemoryBlobs()
        self.recorded: list[Recorded] = []
        self.files = FileTools(self.home, self.blobs, self.history)
        self.commands = CommandTools(config or Config(), self.blobs, self.home, self.history)
        self.knowledge = KnowledgeTools(self.home, self.blobs)
        self._numbers = itertools.count(1)

    def call(self, name: str, within_s: float = 60.0, tries: int = 1, **arguments: Any) -> Answer:
        """What a tool answers; with *tries* as it is asked again after the runtime ended."""
        number = next(self._numbers)
        event = ToolCall(
            execution_id="e1",
            step_id="s1",
            turn=number,
            call_id=f"c{number}",
            tool=name,
            provider=PROVIDERS[name],
            arguments=arguments,
            workspace=str(self.workspace),
            timeout_s=within_s,
        )
        self.record(event)
        tools: dict[str, FileTools | CommandTools | KnowledgeTools] = {
            "files": self.files,
            "commands": self.commands,
            "knowledge": self.knowledge,
        }
        for attempt in range(1, tries + 1):
            given = Delivery(number, NOON_NS + number, "Tested", "tester", "e1", 1, attempt)
            answers = list(tools[event.provider].call(event, given))
        answer = answers[-1]
        assert isinstance(answer, ToolReturned | ToolFailed | ToolDenied)
        self.record(answer)
        return answer

    def close(self) -> None:
        """Leave nothing behind."""
        self.commands.on_stop()

    def text(self, name: str, **arguments: Any) -> str:
        """All that a tool gives."""
        answer = self.call(name, **arguments)
        assert isinstance(answer, ToolReturned), answer
        return self.blobs.get(answer.result).decode()

    def error(self, name: str, **arguments: Any) -> str:
        """Why a tool gives nothing: one clear line."""
        answer = self.call(name, **arguments)
        assert not isinstance(answer, ToolReturned), answer
        said = answer.reason if isinstance(answer, ToolDenied) else answer.error
        assert said
        assert "\n" not in said
        assert str(self.workspace) not in said
        return said

    def record(self, event: Event) -> None:
        """Let the execution's log hold *event*."""
        draft = Draft.of(event)
        VOCABULARY.check(draft)
        at = len(self.recorded) + 1
        self.recorded.append(
            Recorded(
                1,
                at,
                draft.stream,
                at,
                at.to_bytes(16),
                NOON_NS,
                draft.topic,
                draft.schema,
                "e1",
                None,
                "tester",
                draft.key,
                None,
                draft.body,
            )
        )

    def history(self, stream: str) -> Iterator[Recorded]:
        """The events of one stream."""
        return (record for record in self.recorded if record.stream == stream)

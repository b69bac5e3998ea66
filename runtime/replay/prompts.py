"""Prompts that cannot be decided about again, because files beside the log have changed since.

`CompilationEngine` reads config.toml and the files of topics. What it compiled from them is
recorded, so that the same prompt can be made again without them; only why that model was chosen
cannot be repeated.
"""

from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from cortex.bus import CortexError, Recorded
from cortex.bus.events import ContextCompile, ContextCompiled
from cortex.runtime.context import COMPILER, compiler_of_inputs
from cortex.runtime.context.prompt_log import Compiled, rebuilt_document
from cortex.runtime.projections import HomeLog

COMPILE = ContextCompile.topic_name()


class Prompts:
    """The prompts of one home."""

    def __init__(self, source: HomeLog) -> None:
        self._source = source
        config = source.home.config_path
        self._config_ns = config.stat().st_mtime_ns if config.is_file() else 0
        self._digests: dict[str, str] = {}  # of files, by path

    def is_configured_later(self, record: Recorded) -> bool:
        """Whether config.toml was written after *record*."""
        return self._config_ns > record.time_ns

    def are_stale(self, record: Recorded) -> bool:
        """Whether *record* asks for a prompt, and what its compiler read is there no more."""
        if record.topic != COMPILE:
            return False
        event = self._source.event(record)
        topics = event.knowledge if isinstance(event, ContextCompile) else ()
        return self.is_configured_later(record) or not all(map(self._is_there, topics))

    def rebuild(self, record: Recorded) -> str:
        """Compile the prompt of *record* from its inputs; why it has other bytes, "" if not."""
        event = self._source.event(record)
        if not isinstance(event, ContextCompiled):
            return ""
        try:
            rebuilt_document(self._source, Compiled(record.position, record.time_ns, event))
        except CortexError as error:
            return str(error)
        return ""

    def compiler_of(self, event: ContextCompiled) -> int:
        """Version of the compiler that made a prompt; `COMPILER` if its inputs cannot be read."""
        try:
            return compiler_of_inputs(self._source.blobs.get(event.inputs))
        except (CortexError, msgspec.DecodeError):
            return COMPILER

    def _is_there(self, topic: dict[str, Any]) -> bool:
        path = str(topic.get("path", ""))
        if path not in self._digests:
            try:
                self._digests[path] = sha256(Path(path).read_bytes()).hexdigest()
            except OSError:
                self._digests[path] = ""
        return self._digests[path] == topic.get("digest")

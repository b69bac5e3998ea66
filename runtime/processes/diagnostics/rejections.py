"""The files that were rejected and not accepted since: a fold of compiler events."""

from collections.abc import Mapping

from cortex.bus import Event
from cortex.bus.events import (
    ProcessCompiled,
    ProcessRejected,
    ProcessRetired,
    ProcessSubmit,
    ProcessUnchanged,
)


class Rejections:
    """What was said last of each file that does not compile as it was last submitted."""

    def __init__(self) -> None:
        self.by_file: dict[str, ProcessRejected] = {}
        self._removed: dict[str, int] = {}  # where the submission is that removed a file

    def fold(
        self, event: Event, accepted: Mapping[str, str], *, position: int = 0, cause: int = 0
    ) -> None:
        """Fold *event*.

        Args:
            event: Others than those of a compilation change nothing.
            accepted: The sources by file as they were before it.
            position: Of the event, and
            cause: of what it answers; needed where a log is read, in which an answer may stand
                behind a later submission.
        """
        match event:
            case ProcessRejected():
                if cause >= self._removed.get(event.file, 0):
                    self.by_file[event.file] = event
            case ProcessCompiled():
                rejected = self.by_file.get(event.file)
                # Linking an older version again does not accept the rejected one.
                older = accepted.get(event.file) == event.source
                if rejected is not None and (not older or rejected.source == event.source):
                    del self.by_file[event.file]
            case ProcessUnchanged():  # it was put back to what was accepted, or holds nothing
                self.drop(event.files)
            case ProcessRetired():
                self.drop(event.files)
            case ProcessSubmit():
                removed = tuple(file for file in event.removed if file not in event.sources)
                self._removed.update(dict.fromkeys(removed, position))
                self.drop(removed)

    def drop(self, files: tuple[str, ...]) -> None:
        """Forget *files*, which are gone or were accepted."""
        for file in files:
            self.by_file.pop(file, None)

    def waiting(self) -> dict[str, str]:
        """Files that may compile once a missing name exists: digest of each text, by file.

        Without files rejected for warnings only: the next compilation would accept them.
        """
        return {
            file: event.source
            for file, event in self.by_file.items()
            if event.source and not event.strict
        }

"""Managers: they decide what runs, and when."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .choosing import Chosen, Preferences, Refusal, for_request, for_trigger
    from .file_watch_manager import FileWatchManager
    from .files import Change, fitting, folders_of, received
    from .folder_watch import FolderWatch, KnowledgeWatchManager, ProcessWatchManager
    from .process_manager import ProcessManager
    from .schedules import Firing, firing, next_due_ns

__all__ = [
    "Change",
    "Chosen",
    "FileWatchManager",
    "Firing",
    "FolderWatch",
    "KnowledgeWatchManager",
    "Preferences",
    "ProcessManager",
    "ProcessWatchManager",
    "Refusal",
    "firing",
    "fitting",
    "folders_of",
    "for_request",
    "for_trigger",
    "next_due_ns",
    "received",
]

lazily(__name__)

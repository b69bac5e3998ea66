"""Managers: they decide what runs, and when."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .cache_manager import CacheManager, topics_run
    from .choosing import Chosen, Preferences, Refusal, for_trigger
    from .file_watch_manager import FileWatchManager
    from .files import Change, fitting, folders_of, received
    from .folder_watch import FolderWatch, KnowledgeWatchManager, ProcessWatchManager
    from .gc_manager import GCManager
    from .process_manager import ProcessManager
    from .schedules import firing, next_due_ns

__all__ = [
    "CacheManager",
    "Change",
    "Chosen",
    "FileWatchManager",
    "FolderWatch",
    "GCManager",
    "KnowledgeWatchManager",
    "Preferences",
    "ProcessManager",
    "ProcessWatchManager",
    "Refusal",
    "firing",
    "fitting",
    "folders_of",
    "for_trigger",
    "next_due_ns",
    "received",
    "topics_run",
]

lazily(__name__)

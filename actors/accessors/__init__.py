"""Accessors: each keeps one kind of record and answers queries about it."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .directive import DirectiveAccessor
    from .execution_record import ExecutionRecordAccessor
    from .knowledge_store import KnowledgeStoreAccessor
    from .log_archive import LogArchiveAccessor
    from .memory import MemoryAccessor
    from .process_definition import ProcessDefinitionAccessor
    from .recorded_call import RecordedCallAccessor

__all__ = [
    "DirectiveAccessor",
    "ExecutionRecordAccessor",
    "KnowledgeStoreAccessor",
    "LogArchiveAccessor",
    "MemoryAccessor",
    "ProcessDefinitionAccessor",
    "RecordedCallAccessor",
]

lazily(__name__)

"""Accessors: each keeps one kind of record and answers queries about it."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .execution_record import ExecutionRecordAccessor
    from .knowledge_store import KnowledgeStoreAccessor
    from .log_archive import LogArchiveAccessor
    from .process_definition import ProcessDefinitionAccessor
    from .recorded_call import RecordedCallAccessor

__all__ = [
    "ExecutionRecordAccessor",
    "KnowledgeStoreAccessor",
    "LogArchiveAccessor",
    "ProcessDefinitionAccessor",
    "RecordedCallAccessor",
]

lazily(__name__)

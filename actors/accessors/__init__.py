"""Accessors: each keeps one kind of record and answers what is asked of it."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .execution_record import ExecutionRecordAccessor
    from .knowledge_store import KnowledgeStoreAccessor
    from .process_definition import ProcessDefinitionAccessor

__all__ = ["ExecutionRecordAccessor", "KnowledgeStoreAccessor", "ProcessDefinitionAccessor"]

lazily(__name__)

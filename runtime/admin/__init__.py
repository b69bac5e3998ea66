"""Looks after a home: what is in it, as documents for programs, and what is done about it."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .blobs import CollectedDocument, collect_blobs
    from .clients import (
        NEVER,
        AddedDocument,
        ClientDocument,
        RevokedDocument,
        ShownDocument,
        Wanted,
        add_client,
        client_of,
        clients_of,
        grant_client,
        revoke_client,
    )
    from .context_health import FollowedContext
    from .events import EventLine, coming_events, event_line, selection_of, traceback_of
    from .knowledge import (
        IndexDocument,
        TopicRow,
        find_knowledge,
        index_knowledge,
        knowledge_statistics,
        topic_rows,
    )
    from .models import check_models
    from .parked import drop_parked, retry_parked
    from .processes import (
        FoundProcess,
        InspectDocument,
        ProcessRow,
        inspected,
        matching_processes,
        process_history,
        process_rows,
    )
    from .sources import ValidateDocument, validated
    from .status import StatusDocument, UpDocument, plugins_at_start, status_of, up_document
else:
    lazily(__name__)

__all__ = [
    "NEVER",
    "AddedDocument",
    "ClientDocument",
    "CollectedDocument",
    "EventLine",
    "FollowedContext",
    "FoundProcess",
    "IndexDocument",
    "InspectDocument",
    "ProcessRow",
    "RevokedDocument",
    "ShownDocument",
    "StatusDocument",
    "TopicRow",
    "UpDocument",
    "ValidateDocument",
    "Wanted",
    "add_client",
    "check_models",
    "client_of",
    "clients_of",
    "collect_blobs",
    "coming_events",
    "drop_parked",
    "event_line",
    "find_knowledge",
    "grant_client",
    "index_knowledge",
    "inspected",
    "knowledge_statistics",
    "matching_processes",
    "plugins_at_start",
    "process_history",
    "process_rows",
    "retry_parked",
    "revoke_client",
    "selection_of",
    "status_of",
    "topic_rows",
    "traceback_of",
    "up_document",
    "validated",
]

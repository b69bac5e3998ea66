"""Administration of a home: its contents as documents for programs, and changes to it."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .backup import BackupDocument, back_up
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
    from .log import (
        ACCEPT,
        RESTORE,
        SealDocument,
        SegmentRow,
        log_state,
        mend_log,
        seal_log,
        segment_rows,
    )
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
    from .projections import (
        ProjectionRow,
        RebuiltDocument,
        projection_rows,
        rebuild_projections,
        verified_projections,
    )
    from .restore import RestoreDocument, restore
    from .sources import ValidateDocument, validated
    from .status import StatusDocument, UpDocument, plugins_at_start, status_of, up_document
else:
    lazily(__name__)

__all__ = [
    "ACCEPT",
    "NEVER",
    "RESTORE",
    "AddedDocument",
    "BackupDocument",
    "ClientDocument",
    "CollectedDocument",
    "EventLine",
    "FollowedContext",
    "FoundProcess",
    "IndexDocument",
    "InspectDocument",
    "ProcessRow",
    "ProjectionRow",
    "RebuiltDocument",
    "RestoreDocument",
    "RevokedDocument",
    "SealDocument",
    "SegmentRow",
    "ShownDocument",
    "StatusDocument",
    "TopicRow",
    "UpDocument",
    "ValidateDocument",
    "Wanted",
    "add_client",
    "back_up",
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
    "log_state",
    "matching_processes",
    "mend_log",
    "plugins_at_start",
    "process_history",
    "process_rows",
    "projection_rows",
    "rebuild_projections",
    "restore",
    "retry_parked",
    "revoke_client",
    "seal_log",
    "segment_rows",
    "selection_of",
    "status_of",
    "topic_rows",
    "traceback_of",
    "up_document",
    "validated",
    "verified_projections",
]

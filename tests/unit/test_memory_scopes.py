"""Names of scopes: one folder has one name, in whatever form a system gives its accents."""

import pytest

from cortex.bus.events import MemoryRecord
from cortex.runtime.memory import (
    Decider,
    MemoryInvalidError,
    MemoryState,
    RequestRecord,
    Scope,
    check_scope,
    seen_by,
)

COMPOSED = "project:caf\u00e9"
DECOMPOSED = "project:cafe\u0301"


def test_a_folder_has_the_scope_that_a_person_types() -> None:
    assert seen_by(project="cafe\u0301") == seen_by(project="caf\u00e9") == (COMPOSED, "user")
    assert str(Scope.parse(DECOMPOSED)) == COMPOSED


@pytest.mark.parametrize("scope", ["user", COMPOSED, "execution:e1"])
def test_a_scope_that_readers_ask_for_is_taken(scope: str) -> None:
    check_scope(scope)


def test_what_no_reader_would_ask_for_is_refused_before_it_is_recorded() -> None:
    asked = MemoryRecord(kind="decision", content="Tea at five", scope=DECOMPOSED)

    (fact,) = Decider(MemoryState()).decide(asked, RequestRecord("owner", 1, "n1"))

    assert fact.topic_name() == "memory.refused"
    assert "composed form (NFC)" in getattr(fact, "reason", "")
    with pytest.raises(MemoryInvalidError, match="composed form"):
        check_scope(DECOMPOSED)

"""Batches come in all sizes; what SQLite has prepared for one serves the next."""

from pathlib import Path

from cortex.bus import Batch, Receipt, Work
from cortex.runtime.log import EventLog


def test_batches_of_every_size_need_few_statements(tmp_path: Path) -> None:
    log = EventLog.open(tmp_path / "log.db")
    assert log._writer is not None
    rows: dict[str, set[int]] = {}  # in one statement, by its verb

    def seen(statement: str) -> None:
        verb, values, found = statement.partition("(values" if "delete" in statement else "values")
        if values:
            rows.setdefault(verb, set()).add(found.count("("))

    log._writer.set_trace_callback(seen)
    for count in range(1, 301):
        keys = [("w", n) for n in range(count)]
        receipts = {f"c{n}": Receipt(f"c{n}", 1, b"") for n in range(count)}
        log.write(Batch(work={key: Work(*key) for key in keys}, receipts=receipts))
        log.write(Batch(finished=keys))
    state = log.state()
    log.close()

    assert (state.work, len(state.receipts)) == ([], 300)
    assert len(rows) == 3
    for shapes in rows.values():
        assert set(range(1, 11)) <= shapes
        assert len(shapes) <= 33
        assert max(shapes) <= 240

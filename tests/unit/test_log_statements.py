"""Batches come in all sizes; what SQLite has prepared for one serves the next."""

from pathlib import Path

from cortex.bus import Batch, Receipt, Work
from cortex.runtime.log import EventLog


def test_batches_of_every_size_need_few_statements(tmp_path: Path) -> None:
    log = EventLog.open(tmp_path / "log.db")
    assert log._writer is not None
    rows: dict[str, set[int]] = {}  # in one statement, by its verb

    def seen(statement: str) -> None:
        verb, values, found = statement.partition(" in (" if "delete" in statement else "values")
        if values:
            rows.setdefault(verb, set()).add(found.count("," if "delete" in statement else "("))

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
    for verb, shapes in rows.items():
        if "delete" in verb:
            shapes = {commas + 1 for commas in shapes}
        assert set(range(1, 11)) <= shapes
        assert len(shapes) <= 33
        assert max(shapes) <= 240


def test_no_statement_looks_at_work_that_it_is_not_about(tmp_path: Path) -> None:
    log = EventLog.open(tmp_path / "log.db")
    writer = log._writer
    assert writer is not None
    keys = [(name, n) for name in ("v", "w") for n in range(500)]
    log.write(Batch(work={key: Work(*key) for key in keys}))
    statements: list[str] = []
    writer.set_trace_callback(statements.append)

    log.write(Batch(finished=keys[450:550]))

    writer.set_trace_callback(None)
    deletions = [each for each in statements if each.startswith("delete")]
    plans = [writer.execute(f"explain query plan {each}").fetchall() for each in deletions]
    assert len(deletions) == 2
    for plan in plans:
        assert "(subscription=? AND position=?)" in plan[0][3]
    assert sorted((w.subscription, w.position) for w in log.state().work) == [
        *keys[:450],
        *keys[550:],
    ]
    log.close()

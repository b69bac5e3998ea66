"""What became of everything in a home whose processes were killed, and whether that may be."""

from collections import Counter
from contextlib import closing
from datetime import datetime, timedelta
from itertools import pairwise

import msgspec

from cortex.bus import Recorded, as_map, decode
from cortex.runtime.kernel import Home
from cortex.runtime.log import EventLog
from cortex.testing import replay

from .chaos_effects import KIND_OF, ONCE, Chaos
from .chaos_follower import Followed
from .chaos_parts import TRIES, lines_in

STATUS = {
    "execution.completed": "completed",
    "execution.failed": "failed",
    "execution.halted": "halted",
    "execution.resumed": "resumed",
    "execution.paused": "paused",
    "execution.cancelled": "cancelled",
}


class Ended(msgspec.Struct):
    """An execution as the log has it."""

    kind: str
    position: int  # of its request
    status: str = "open"
    reason: str = ""
    asked: int = 0  # how often a person was asked about its effect
    again: int = 0  # how often they had it done again
    happened: int = 0  # how often they said that it had happened
    returned: bool = False  # its tool was asked, and gave something


class Verdict(msgspec.Struct):
    """Figures of one run; `wrong` is empty where all promises held."""

    durability: str
    seed: str
    seconds: float
    kills: dict[str, int]
    in_the_middle: int  # of the kills: an effect of their victim was under way
    executions: int = 0
    statuses: dict[str, int] = {}
    reasons: dict[str, int] = {}  # of those that failed or halted
    events: int = 0
    effects: dict[str, int] = {}  # that began, by kind
    repeated: int = 0  # idempotent ones that were asked for again under their key
    read_again: int = 0
    asked: int = 0  # questions to a person
    again: int = 0  # effects that a person had done again
    cut: int = 0  # events that power cuts took
    lost: int = 0  # acknowledged executions that went with them
    tails_lost: int = 0  # that followers were told of
    wrong: list[str] = []


def summed(verdicts: list[Verdict]) -> str:
    """The figures of several runs together, in words, and a line for each."""

    def total(kind: str) -> Counter[str]:
        counts = Counter[str]()
        for verdict in verdicts:
            counts.update(getattr(verdict, kind))
        return counts

    def figure(kind: str) -> int:
        return sum(getattr(verdict, kind) for verdict in verdicts)

    def listed(counts: Counter[str]) -> str:
        return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))

    kills, wrong = total("kills"), [each for verdict in verdicts for each in verdict.wrong]
    lost = Counter[str]()
    for verdict in verdicts:
        lost[verdict.durability] += verdict.lost
    text = f"""\
{kills.total():,} faults in {figure("seconds") / 60:.0f} min, {figure("in_the_middle"):,} of them \
while an effect of their victim was under way:
    {listed(kills)}
{figure("executions"):,} executions ({listed(total("statuses"))}), {figure("events"):,} events
effects that began, by kind: {listed(total("effects"))}
{figure("repeated")} idempotent effects repeated under their key, {figure("read_again")} reads \
done again, {figure("asked")} effects asked of a person, who had {figure("again")} done again
power cuts took {figure("cut")} events, and with them {lost["normal"]} acknowledged requests under \
normal, {lost["full"]} under full; followers were told of a lost tail {figure("tails_lost")} times
{len(wrong)} broken promises: effects twice or under two keys, executions without an end, events \
lost unsaid, mixtures, processes left behind
"""
    text += "".join(f"    {each}\n" for each in wrong) + "\n"
    return text + "".join(
        f"seed {v.seed:4} {v.durability:6} {sum(v.kills.values())} faults, {v.executions} "
        f"executions, {v.events:,} events, {v.asked} asked, {v.lost} lost, {len(v.wrong)} wrong, "
        f"{v.seconds:.0f} s\n"
        for v in verdicts
    )


def whole(home: Home) -> list[Recorded]:
    """Every event of the log, verified."""
    found: list[Recorded] = []
    with closing(EventLog.open(home.log_path, readonly=True)) as log:
        assert log.verify() == log.state().head
        while page := log.read(len(found), 1_024, 4 << 20):
            found += map(decode, page)
    assert [record.position for record in found] == [*range(1, len(found) + 1)]
    return found


def executions_in(records: list[Recorded]) -> dict[str, Ended]:
    """The executions of the processes of the test, by id."""
    ended: dict[str, Ended] = {}
    for record in records:
        family, _, execution_id = record.stream.partition("/")
        if family != "execution":
            continue
        if record.topic == "execution.request":
            kind = KIND_OF[str(as_map(record)["process"])]
            ended.setdefault(execution_id, Ended(kind, record.position))
            continue
        one = ended.get(execution_id)
        if one is None:
            continue
        if record.topic in STATUS:
            one.status = STATUS[record.topic]
            one.reason = str(as_map(record).get("reason", ""))
        one.asked += record.topic == "effect.unknown"
        one.returned |= record.topic == "tool.returned"
        if record.topic == "effect.settled":
            again = as_map(record)["outcome"] == "again"
            one.again += again
            one.happened += not again
    return ended


def judged(chaos: Chaos, verdict: Verdict, followers: list[Followed]) -> Verdict:
    """Fill in the figures, and all that should not be."""
    records = whole(chaos.world.home)
    ended = executions_in(records)
    wrong = verdict.wrong = list[str]()
    verdict.events, verdict.executions = len(records), len(ended)
    verdict.cut = sum(cut.lost for cut in chaos.cuts)
    effects, statuses, reasons = Counter[str](), Counter[str](), Counter[str]()
    for execution_id, one in ended.items():
        times = chaos.begun(execution_id)
        statuses[one.status] += 1
        if one.status in ("failed", "halted"):
            reasons[f"{one.kind} {one.status}: {one.reason[:200]}"] += 1
        effects[one.kind] += times
        verdict.asked += one.asked
        verdict.again += one.again
        said = f"{one.kind} {execution_id} at {one.position}: {one.status}, begun {times} times"
        wrong += (f"{said}: {problem}" for problem in _problems(one, times))
        if one.kind == "stored":
            tries = lines_in(chaos.world.each / f"{execution_id}{TRIES}")
            verdict.repeated += max(0, tries - 1)
        verdict.read_again += max(0, times - 1) if one.kind == "read" else 0
    verdict.effects, verdict.statuses, verdict.reasons = effects, statuses, reasons
    wrong += _lost(chaos, ended, verdict)
    wrong += _unanswered(records) if verdict.durability == "full" else ()
    wrong += _missed(records)
    wrong += _decided_otherwise(chaos.world.home)
    ids = {record.position: record.id.hex() for record in records}
    for followed in followers:
        verdict.tails_lost += len(followed.lost)
        if followed.mixed:
            wrong.append(f"a follower saw a mixture at {followed.mixed}")
        if followed.held != {p: i for p, i in ids.items() if p <= followed.after}:
            wrong.append(f"a follower holds other events than the log, up to {followed.after}")
        if followed.lost and not verdict.cut:
            wrong.append(f"a follower was told of a loss that was none: {followed.lost}")
    wrong += (f"a process was left behind: {each}" for each in chaos.world.left_behind())
    return verdict


def _decided_otherwise(home: Home) -> list[str]:
    """What a replay decides otherwise than the runtimes did that were killed."""
    try:
        replay(home.path)
    except AssertionError as error:
        return [f"a replay differs: {error}"]
    return []


def _problems(one: Ended, times: int) -> list[str]:
    """What should not be of one execution."""
    found: list[str] = []
    if one.kind in ONCE and times > 1 + one.again:
        found.append("an effect that may happen once happened twice")
    if one.kind == "stored" and times > 1:
        found.append("an idempotent effect happened twice under its key")
    # A model may answer without the tool: another one than that which the test brings.
    done = one.returned if one.kind == "tool" else one.status == "completed"
    if done and not (times or one.happened):
        found.append("it completed without its effect")
    # While its worker is away a process is unlinked, and a request for it is refused.
    refused = one.status == "failed" and not times
    if one.status not in ("completed", "halted") and not refused:
        found.append(f"it did not come to its end {one.reason}")
    return found


def _lost(chaos: Chaos, ended: dict[str, Ended], verdict: Verdict) -> list[str]:
    """What was acknowledged and is not there; a power cut may take it where nothing synced it."""
    wrong: list[str] = []
    heads = [cut.head for cut in chaos.cuts if cut.lost]
    for asked in chaos.asked:
        one = ended.get(asked.execution_id)
        if one is not None:
            if one.position != asked.position:
                wrong.append(f"{asked} is at {one.position}")
            continue
        verdict.lost += 1
        if verdict.durability == "full" or not any(asked.position > head for head in heads):
            wrong.append(f"{asked} was acknowledged, and is lost")
        if asked.kind in ONCE and chaos.begun(asked.execution_id):
            wrong.append(f"{asked} is lost, and its effect has begun")
    return wrong


def _unanswered(records: list[Recorded]) -> list[str]:
    """Triggers that nobody answered, or somebody twice."""
    answers = Counter(
        record.stream for record in records
        if record.topic in ("trigger.matched", "trigger.unmatched")
    )  # fmt: skip
    asked = [record.stream for record in records if record.topic == "trigger.received"]
    return [f"{each} has {answers[each]} answers" for each in asked if answers[each] != 1]


def _missed(records: list[Recorded]) -> list[str]:
    """Minutes between the first that a schedule fired for and the last, unless each fired once."""
    fields = (as_map(r)["fields"] for r in records if r.topic == "trigger.received")
    due = sorted(datetime.fromisoformat(f["due"]) for f in fields if f["source"] == "schedule")
    return [f"after {a} comes {b}" for a, b in pairwise(due) if b - a != timedelta(minutes=1)]

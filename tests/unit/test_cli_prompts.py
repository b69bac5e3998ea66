"""What `cortex prompt diff` and `why` say of two prompts."""

from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.bus import CortexError
from cortex.bus.events import ContextCompiled
from cortex.runtime.context import COMPILER as COMPILER_VERSION
from cortex.runtime.context import (
    Budgets,
    ContextCompiler,
    Inputs,
    Item,
    Prompt,
    PromptStep,
    Request,
    Tool,
    View,
    counter_for,
    keep_inputs,
    prompt_text,
    read_inputs,
    shown_texts,
)
from cortex.runtime.context.prompt_log import (
    Compiled,
    PromptDocument,
    diff_of,
    document_of,
    rebuilt_document,
    row_of,
    sections_cost,
    stats_of,
    why_of,
)
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home, RefusedError
from cortex.runtime.log import BlobError, MemoryBlobs
from cortex.runtime.models import Price, Usage, cost

prompts: Any = import_module("cortex.runtime.cli.prompts")  # an inner part
Screen: Any = import_module("cortex.runtime.cli.screen").Screen
counting_of = prompts.counting_of
COMPILER = ContextCompiler()


def prompt(*items: Item, **fields: Any) -> Prompt:
    step = PromptStep(process="p", id="say", description="What did the parser reject?")
    return COMPILER.compile(Request(step=step, window=200_000, items=items, **fields))


def compiled(made: Prompt, manifest: str = "") -> Compiled:
    event = ContextCompiled(
        execution_id="x1",
        step_id="say",
        prompt=made.digest,
        manifest=manifest,
        model="m",
        tokens=made.tokens,
        sections=made.sections,
        window=made.manifest.effective_window,
        headroom=made.manifest.headroom,
    )
    return Compiled(1, 0, event)


def document(made: Prompt) -> PromptDocument:
    about = row_of(compiled(made))
    return PromptDocument(about, made.text, made.manifest, (), blocks=made.blocks)


def note(name: str, text: str, **fields: Any) -> Item:
    return Item(id=name, section="knowledge", kind="note", text=text, **fields)


def test_equal_prompts_differ_in_nothing() -> None:
    same = document(prompt(note("a", "A comma.")))

    found = diff_of(same, same)

    assert (found.same, found.tokens, found.items, found.sections) == (True, 0, [], {})
    assert found.shared == len(same.text)


def test_a_diff_says_which_versions_of_the_compiler_made_the_prompts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now, old = document(prompt(note("a", "A comma."))), document(prompt(note("a", "Bread.")))
    old.manifest = msgspec.structs.replace(old.manifest, compiler=1)

    found = diff_of(old, now)
    prompts.show_diff(Screen(), found, texts=False)

    assert found.compilers == (1, COMPILER_VERSION)
    assert (
        f"compiler version 1 made the first, {COMPILER_VERSION} the second"
        in capsys.readouterr().out
    )


def test_a_diff_names_each_item_that_changed_and_how() -> None:
    before = document(
        prompt(note("a", "A comma."), note("gone", "Bread."), note("late", "x", produced_by="s"))
    )
    after = document(
        prompt(
            note("a", "A comma and a colon."),
            note("new", "Cheese."),
            note("late", "x", produced_by="s"),
            carry=("s",),
        )
    )

    found = diff_of(before, after)

    assert [(item.id, item.change) for item in found.items] == [
        ("a", "other text"),
        ("gone", "removed"),
        ("late", "added"),
        ("new", "added"),
    ]
    late = next(item for item in found.items if item.id == "late")
    assert late.before == "out: output of step s, which is not carried"
    assert found.tokens == sum(found.sections.values())
    assert before.text[: found.shared] == after.text[: found.shared]
    assert before.text[found.shared] != after.text[found.shared]


def test_how_full_the_window_is_counts_what_is_kept_for_the_answer() -> None:
    made = prompt(note("a", "A comma."))

    row = document(made).about

    taken = made.tokens + made.manifest.headroom
    assert row.utilisation == round(taken / made.manifest.effective_window, 4)


def test_a_list_shows_what_a_prompt_itself_takes_of_the_window() -> None:
    about = document(prompt(note("a", "A comma."))).about
    about.tokens, about.window = 950, 24_000

    assert f"{about.share:.0%}" == "4%"


def test_a_manifest_that_is_none_is_an_error_where_it_is_named_and_left_out_of_many() -> None:
    made = prompt(note("a", "A comma."))
    blobs = MemoryBlobs()
    blobs.put(made.encoded)
    whole = compiled(made, blobs.put(msgspec.json.encode(made.manifest)))
    damaged = [
        *(compiled(made, blobs.put(data)) for data in (b"{}", b"no JSON", b"\xff", b"[" * 9_000)),
        compiled(made, "sha256:" + "0" * 64),
        compiled(made, ""),
    ]
    history = History(Home(Path()), None, blobs)
    unread: list[str] = []

    rows = list(why_of(history, [*damaged, whole], "a", unread))
    found = stats_of(history, [*damaged, whole])

    assert [row.because.partition(":")[0] for row in rows] == ["in"]
    assert (found.prompts, found.unread) == (1, unread)
    assert len(unread) == len(damaged)
    assert "is left out: " in unread[0]
    assert "it is not a manifest of a prompt" in unread[0]
    for each in damaged:
        with pytest.raises(BlobError):
            document_of(history, each)
        with pytest.raises(BlobError):
            list(why_of(history, [each], "a"))


# The text that changed.


def test_a_diff_has_the_lines_that_came_and_those_that_left_and_says_why() -> None:
    rota = "Ada on Monday.\nBob on Tuesday.\nCy on Friday.\n"
    before = document(prompt(note("gone", "Bread."), note("rota", rota)))
    after = document(prompt(note("rota", rota.replace("Bob", "Dan")), persona="Be brief."))

    found = diff_of(before, after)

    texts = {item.id: item.text for item in found.items}
    assert texts["rota"][1:] == (
        " Ada on Monday.",
        "-Bob on Tuesday.",
        "+Dan on Tuesday.",
        " Cy on Friday.",
    )
    assert texts["gone"][1:] == ("-Bread.",)
    assert next(item for item in found.items if item.id == "rota").why == "its source changed"
    assert [(own.section, own.text[-1]) for own in found.own] == [("persona", "+Be brief.")]
    assert found.tokens == sum(o.tokens for o in found.own) + sum(i.tokens for i in found.items) + (
        found.sections["persona"] - found.own[0].tokens
    )


def test_a_diff_says_what_pushed_an_item_out() -> None:
    notes = [note(f"n{n}", f"Harbour {n}. " * 60) for n in range(4)]
    budgets = msgspec.structs.replace(Budgets.scaled_to(24_000), knowledge=900)
    before = document(prompt(*notes[:2], budgets=budgets))
    high = note("new", "The parser rejected a comma. " * 110, priority=1)
    after = document(prompt(*notes[:2], high, budgets=budgets))

    found = {item.id: item for item in diff_of(before, after).items}

    assert found["new"].change == "added"
    assert found["n0"].change == "removed"
    assert "other items of knowledge take +" in found["n0"].why
    assert "budgets.knowledge has no room" in found["n0"].after


def test_an_upper_bound_is_called_one() -> None:
    step = PromptStep(process="p", id="say", description="Wer bäckt Brot?")
    request = Request(step=step, window=200_000)
    bound, exact = (
        ContextCompiler(counter_for(encoding)).compile(request)
        for encoding in ("nobody-knows", "o200k_base")
    )

    assert counting_of(exact.manifest) == "by o200k_base"
    assert counting_of(bound.manifest).startswith("a token for each byte, the most that it can be")
    assert "nobody-knows" in counting_of(bound.manifest)
    assert bound.tokens == len(bound.text.encode()) > exact.tokens


def test_names_and_tools_are_found_however_a_fence_writes_them() -> None:
    tool = Tool(name="look", description="Looks.", parameters={"type": "object"})
    odd = 'a "b" <c>\n'
    made = prompt(note(odd, "A comma."), tools=(tool,))

    shown = shown_texts(made.blocks, [entry.id for entry in made.manifest.items])

    assert shown.items == {odd: "A comma.", "tool:look": shown.items["tool:look"]}
    assert shown.items["tool:look"] in made.text.splitlines()
    assert all(text in made.text for text in shown.own.values())


# One line of an item.

LONG = "# Harbour\n\nThe harbour closes at nine.\n\n" + "".join(
    f"## Part {n}\n\nOf ropes and boats, number {n}.\n{f'tar{n} ' * 90}\n\n" for n in range(30)
)


def kept(blobs: MemoryBlobs, request: Request, **fields: Any) -> Compiled:
    made = COMPILER.compile(request, VIEW)
    blobs.put(made.encoded)
    inputs = Inputs(
        encoding="o200k_base", request=request, view=VIEW, program="0", compiler=COMPILER_VERSION
    )
    found = compiled(made, blobs.put(msgspec.json.encode(made.manifest)))
    event = msgspec.structs.replace(found.event, inputs=keep_inputs(inputs, blobs.put), **fields)
    return found._replace(event=event)


VIEW = View(position=3)


@pytest.fixture
def harbour() -> tuple[History, Compiled]:
    blobs = MemoryBlobs()
    step = PromptStep(process="p", id="say", description="When does the harbour close?")
    item = note("house.harbour", LONG, source="/home/u/house/harbour.md", first_line=11)
    budgets = msgspec.structs.replace(Budgets.scaled_to(24_000), knowledge=500)
    request = Request(step=step, window=200_000, items=(item,), budgets=budgets)
    return History(Home(Path()), None, blobs), kept(blobs, request)


@pytest.mark.parametrize(
    ("asked", "state", "text"),
    [
        ("house.harbour:13", "in", "The harbour closes at nine."),
        ("harbour.md:13", "in", "The harbour closes at nine."),
        ("house.harbour:88", "out", ""),
        ("house.harbour:9", "not offered", ""),
        ("house.harbour:9999", "not offered", ""),
    ],
)
def test_the_fate_of_a_line_names_its_chunk(
    harbour: tuple[History, Compiled], asked: str, state: str, text: str
) -> None:
    history, one = harbour

    (row,) = why_of(history, [one], asked)

    fate = row.line
    assert fate is not None
    assert fate.state == state
    assert text in fate.text
    if state != "not offered":
        assert fate.first_line <= fate.line <= fate.last_line
        assert f"it is in lines {fate.first_line}-{fate.last_line}" in row.because
        shown = prompt_text(history.blobs.get(one.event.prompt))
        assert (LONG.split("\n")[fate.line - 11] in shown) == (state == "in")


def test_without_what_a_prompt_was_compiled_from_a_line_is_told_by_the_manifest_alone(
    harbour: tuple[History, Compiled],
) -> None:
    history, one = harbour
    old = one._replace(event=msgspec.structs.replace(one.event, inputs=""))

    (row,) = why_of(history, [old], "house.harbour:13")

    assert row.line is not None
    assert row.line.state == "in"
    assert "was compiled before Cortex kept what a prompt is compiled from" in row.because


# Made again.


def test_a_prompt_is_made_again_from_what_is_kept_and_another_is_refused(
    harbour: tuple[History, Compiled],
) -> None:
    history, one = harbour
    sent = prompt_text(history.blobs.get(one.event.prompt))
    other = one._replace(event=msgspec.structs.replace(one.event, prompt="0" * 64))

    assert rebuilt_document(history, one).text == sent
    assert rebuilt_document(history, one).blocks == document_of(history, one).blocks
    with pytest.raises(CortexError, match=r"comes to other bytes now .* Cortex 0 compiled it"):
        rebuilt_document(history, other)


def test_a_prompt_of_the_first_compiler_is_shown_and_made_again_or_says_who_made_it(
    harbour: tuple[History, Compiled],
) -> None:
    history, one = harbour
    text = prompt_text(history.blobs.get(one.event.prompt))
    inputs = read_inputs(history.blobs.get(one.event.inputs), history.blobs.get)

    def old(text: str, request: Request) -> Compiled:
        made = msgspec.structs.replace(inputs, request=request, compiler=1)
        fields = {"prompt": history.blobs.put(text.encode()), "inputs": kept_by(made)}
        return one._replace(event=msgspec.structs.replace(one.event, **fields))

    def kept_by(made: Inputs) -> str:
        return keep_inputs(made, history.blobs.put)

    same = old(text, inputs.request)
    other = old(text, msgspec.structs.replace(inputs.request, instructions="Be brief."))

    assert document_of(history, same).text == text
    assert [b.kind for b in document_of(history, same).blocks][:2] == ["heading", "own"]
    assert rebuilt_document(history, same).text == text
    now = f"compiler version 1 made it, this is {COMPILER_VERSION}"
    with pytest.raises(RefusedError, match=now):
        rebuilt_document(history, other)


# What it costs.


def test_the_cost_of_sections_is_that_of_the_prompt_the_cached_beginning_the_cheapest() -> None:
    price = Price(input=10.0, cached_read=1.0, cached_write=12.5, output=50.0)
    usage = Usage(input=500, cached_read=900, cached_write=700)
    sections = {"persona": 100, "tools": 800, "history": 900, "step": 200}

    costs = sections_cost(sections, usage, price)

    assert sum(costs.values()) == pytest.approx(cost(usage, price))
    per_token = {name: costs[name] / tokens for name, tokens in sections.items()}
    assert per_token["persona"] < per_token["step"] < per_token["history"]


def test_a_source_that_was_never_used_is_told_with_the_reason() -> None:
    blobs = MemoryBlobs()
    step = PromptStep(process="p", id="say", description="When?")
    items = (note("used", "At nine."), note("twin", "At nine."))
    one = kept(blobs, Request(step=step, window=200_000, items=items))

    found = stats_of(History(Home(Path()), None, blobs), [one, one])

    assert found.unused == ["twin"]
    (unused,) = [source for source in found.sources if not source.used]
    assert (unused.considered, unused.reason) == (2, "same text as used")
    assert (found.priced, found.cost) == (0, 0.0)

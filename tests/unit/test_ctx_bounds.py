"""What encoding costs is bounded: by what is counted and searched, never by a clock."""

import json
import tracemalloc
from collections.abc import Sequence

from cortex.runtime.context import (
    Budgets,
    ByteCounter,
    ContextCompiler,
    Item,
    PromptStep,
    Request,
    TokenCounter,
)
from cortex.runtime.ctx import Package, decode, encode

COUNTER = TokenCounter()
STEP = PromptStep(process="p", id="s", description="Which berth is free?")
PASSES = 6  # over a text, that counting all of its forms may take
BYTES_A_CHARACTER = 40  # of a source, while it is encoded


class Meter:
    """Counts tokens, and the characters that it counted them of."""

    def __init__(self) -> None:
        self.characters = 0

    def count(self, text: str) -> int:
        self.characters += len(text)
        return COUNTER.count(text)

    def lengths(self, text: str) -> Sequence[int]:
        self.characters += len(text)
        return COUNTER.lengths(text)


def berths(count: int) -> str:
    return json.dumps(
        [
            {
                "id": f"berth-{n}",
                "depth": f"{n * 7919 % 1000 / 100:.2f}",
                "of": {"port": f"harbour {n * 31 % 17}", "codes": [n % 5, n % 7]},
                "url": f"https://ports.example.org/berths/{n}/view",
            }
            for n in range(count)
        ]
    )


def metered(text: str) -> tuple[Package, float]:
    meter = Meter()
    package = encode(text, "json", counter=meter)
    return package, meter.characters / len(text)


def test_a_text_is_counted_a_few_times_however_long_it_is() -> None:
    small, passes_of_small = metered(berths(200))
    large, passes_of_large = metered(berths(4_000))

    assert passes_of_small < PASSES
    assert passes_of_large < PASSES / 2  # of a long text a sample decides
    for package in (small, large):
        assert package.mode == "exact"
        assert package.tokens < 0.4 * package.source_tokens


def test_a_phrase_that_a_sample_shows_is_named_all_over_a_long_text() -> None:
    lines = [f"{n * 7919 % 100_003} the crane at the north pier waits\n" for n in range(8_000)]

    package = encode("".join(lines), "text", counter=COUNTER)

    assert decode(package.text).text == "".join(lines)
    assert package.text.count("north pier") == 1  # in the legend
    assert package.tokens < 0.6 * package.source_tokens


def test_encoding_takes_a_few_bytes_a_character() -> None:
    text = berths(2_000)
    encode(berths(10), "json", counter=COUNTER)  # the ranks are loaded

    tracemalloc.start()
    encode(text, "json", counter=COUNTER)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < BYTES_A_CHARACTER * len(text)


def knowledge(item_id: str, text: str) -> Item:
    return Item(id=item_id, section="knowledge", kind="doc", text=text)


def test_an_item_that_is_too_long_to_be_compressed_says_so_in_the_manifest() -> None:
    long, short = knowledge("long.json", berths(4_000)), knowledge("short.json", berths(60))
    budgets = Budgets.scaled_to(60_000)
    request = Request(
        step=STEP, window=200_000, effective_window=60_000, items=(long, short), budgets=budgets
    )

    prompt = ContextCompiler().compile(request)

    found = {entry.id: entry for entry in prompt.manifest.items}
    assert found["long.json"].form == ""
    assert found["long.json"].reason.endswith("; too long to be compressed")
    assert "too long" not in found["short.json"].reason


def test_what_one_prompt_may_compress_is_bounded_and_the_best_items_go_first() -> None:
    items = tuple(knowledge(f"{n}.json", berths(500 + n)) for n in range(6))
    request = Request(step=STEP, window=200_000, effective_window=60_000, items=items)

    manifest = ContextCompiler().compile(request).manifest

    untried = [e for e in manifest.items if e.reason.endswith("too long to be compressed")]
    assert 0 < len(untried) < len(items)


def test_data_stands_in_its_exact_form_though_the_source_would_fit_too() -> None:
    rows, prose = (
        knowledge("rows.json", berths(60)),
        knowledge("notes.md", "It opens at six. " * 60),
    )
    ferries = json.dumps([{"ferry": f"ferry {n}", "leaves": n * 7 % 60} for n in range(60)])
    must = Item(id="must.json", section="knowledge", kind="doc", text=ferries, must_include=True)
    request = Request(step=STEP, window=200_000, items=(rows, prose, must))

    prompt = ContextCompiler().compile(request)

    found = {entry.id: entry for entry in prompt.manifest.items}
    assert (found["rows.json"].form, found["must.json"].form) == ("exact", "exact")
    assert found["notes.md"].form == ""
    assert found["rows.json"].saved > 0.5 * COUNTER.count(rows.text)  # the manifest says both sizes
    assert "#ctx exact json" in prompt.text


def test_of_data_that_does_not_fit_in_its_form_chunks_of_the_source_are_in() -> None:
    rows = knowledge("rows.json", json.dumps(json.loads(berths(900)), indent=1))
    budgets = Budgets.scaled_to(4_000)
    request = Request(
        step=STEP, window=20_000, effective_window=4_000, items=(rows,), budgets=budgets
    )

    prompt = ContextCompiler().compile(request)

    (entry,) = (each for each in prompt.manifest.items if each.id == "rows.json")
    assert entry.form == ""
    assert "chunks fit" in entry.reason
    assert "#ctx" not in prompt.text


def test_a_form_is_found_where_the_tokenizer_is_not_known() -> None:
    package = encode(berths(40), "json", counter=ByteCounter("nobody"))

    assert package.tokens < package.source_tokens

"""The action `find_relevant_code`: which lines of the checkout a failure points at."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, TypeAlias

import msgspec

from cortex.bus import Event
from cortex.bus.events import StepExecute, StepFailed
from cortex.runtime.context import Offer
from cortex.runtime.kernel import Component, Delivery, Serves, on
from cortex.runtime.processes import ALSO_FROM

from .answers import completed, failed, parameters_of
from .source import Checkout, CheckoutError, Location, find_relevant_code

AROUND = 6  # lines of code on each side that a model may want to see
MOST = 20  # locations, whatever is asked for

FailureText: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema={ALSO_FROM: ["excerpt"]})]


class FindRelevantCodeParameters(msgspec.Struct, frozen=True):
    """Find the files and lines that a failure is about."""

    text: FailureText  # what the failure says: an excerpt of a log, a stack trace
    checkout: str = ""  # folder; relative ones start at the workspace, "" is the workspace
    limit: Annotated[int, msgspec.Meta(ge=1)] = 8


class FindRelevantCodeResult(msgspec.Struct, frozen=True):
    """What `find_relevant_code` gives."""

    locations: list[Location]  # best first
    context: list[Offer]


class FindRelevantCode(Component):
    """Matches stack frames, paths and symbols with the files of a git checkout or a folder."""

    workers = 1
    cpu = True
    serves = (
        Serves(
            "action",
            "find_relevant_code",
            FindRelevantCodeParameters,
            FindRelevantCodeResult,
            effect="read",
        ),
    )

    @on(StepExecute, where={"action": "find_relevant_code"})
    def execute(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Find them."""
        asked = parameters_of(event, FindRelevantCodeParameters)
        if isinstance(asked, StepFailed):
            yield asked
            return
        root = Path(event.workspace or ".", asked.checkout).absolute()
        try:
            checkout = Checkout(root)
            found = find_relevant_code(asked.text, checkout, limit=min(asked.limit, MOST))
        except (CheckoutError, OSError) as error:
            yield failed(event, str(error), retry=False)
            return
        result = FindRelevantCodeResult(found, _offers(found, checkout))
        where = f"{found[0].path}:{found[0].line}" if found else "no file of the checkout"
        yield completed(event, result, f"the failure points at {where}")


def _offers(found: list[Location], checkout: Checkout) -> list[Offer]:
    """One offer a file: the lines around each of its locations."""
    wanted: dict[str, set[int]] = {}
    for place in found:
        around = range(max(1, place.line - AROUND), place.line + AROUND + 1)
        wanted.setdefault(place.path, set()).update(around)
    offers: list[Offer] = []
    for path, numbers in wanted.items():
        lines = checkout.read_lines(path)
        shown = [number for number in sorted(numbers) if number <= len(lines)]
        if shown:
            text = "".join(f"{lines[number - 1]}\n" for number in shown)
            offers.append(
                Offer(kind="code", id=path, text=text, source=path, line_numbers=tuple(shown))
            )
    return offers

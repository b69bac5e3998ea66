"""The action `find_relevant_code`: which lines of the checkout a failure points at."""

from pathlib import Path
from typing import Annotated, TypeAlias

import msgspec

from cortex.runtime.code.source import Checkout, CheckoutError, Location, find_relevant_code
from cortex.runtime.context import Offer
from cortex.runtime.functions import ActionStep, StepError, action
from cortex.runtime.kernel import Component
from cortex.runtime.processes import ALSO_FROM

AROUND = 6  # lines of code on each side that a model may want to see
MOST = 20  # maximum of locations

FailureText: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema={ALSO_FROM: ["excerpt"]})]


class FindRelevantCodeParameters(msgspec.Struct, frozen=True):
    """Find the files and lines that a failure is about."""

    text: FailureText  # text of the failure: an excerpt of a log, a stack trace
    checkout: str = ""  # its folder, absolute or relative to the workspace; "": the workspace
    limit: Annotated[int, msgspec.Meta(ge=1)] = 8  # the most locations to return


class FindRelevantCodeResult(msgspec.Struct, frozen=True):
    """What `find_relevant_code` gives."""

    locations: list[Location]  # the most likely first
    context: list[Offer]  # excerpts of the files at these locations


class FindRelevantCode(Component):
    """Finds the lines of a checkout that the stack frames, paths and symbols of a text name."""

    rests = True
    cpu = True

    @action("find_relevant_code", effect="read")
    def execute(
        self, asked: FindRelevantCodeParameters, step: ActionStep
    ) -> FindRelevantCodeResult:
        """Find them."""
        root = Path(step.event.workspace or ".", asked.checkout).absolute()
        try:
            checkout = Checkout(root)
            found = find_relevant_code(asked.text, checkout, limit=min(asked.limit, MOST))
        except (CheckoutError, OSError) as error:
            raise StepError(str(error), retry=False) from error
        where = f"{found[0].path}:{found[0].line}" if found else "no file of the checkout"
        step.summary = f"the failure points at {where}"
        return FindRelevantCodeResult(found, _offers(found, checkout))


def _offers(found: list[Location], checkout: Checkout) -> list[Offer]:
    """One offer per file: the lines around each of its locations."""
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

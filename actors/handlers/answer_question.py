"""The action `answer_question`: a model's answer, as it stands."""

from collections.abc import Iterator

import msgspec

from cortex.bus import Event
from cortex.bus.events import StepExecute, StepFailed
from cortex.runtime.kernel import Component, Delivery, Serves, on

from .answers import completed, parameters_of


class AnswerQuestionParameters(msgspec.Struct, frozen=True):
    """Answer a question from what is known, by a model."""

    question: str


class AnswerQuestionResult(msgspec.Struct, frozen=True):
    """What `answer_question` gives."""

    text: str
    extractive: bool  # True: the answer holds quotations of the context and nothing else


class AnswerQuestion(Component):
    """Gives the answer that a model gave to the step's context."""

    workers = 1
    serves = (
        Serves(
            "action",
            "answer_question",
            AnswerQuestionParameters,
            AnswerQuestionResult,
            traits={"asks_model": True},
            effect="none",
        ),
    )

    @on(StepExecute, where={"action": "answer_question"})
    def execute(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Pass the answer on."""
        asked = parameters_of(event, AnswerQuestionParameters)
        if isinstance(asked, StepFailed):
            yield asked
            return
        text = str(event.answer.get("text", ""))
        result = AnswerQuestionResult(text, bool(event.answer.get("extractive")))
        # Only what quotes knows whether the context held an answer.
        held = event.answer.get("answered", True)
        yield completed(event, result, "answered" if held else "no answer was found")

"""The action `answer_question`: a model's answer, as it stands."""

import msgspec

from cortex.runtime.functions import ActionStep, action
from cortex.runtime.kernel import Component


class AnswerQuestionParameters(msgspec.Struct, frozen=True):
    """Answer a question from what is known, by a model."""

    question: str


class AnswerQuestionResult(msgspec.Struct, frozen=True):
    """What `answer_question` gives."""

    text: str
    extractive: bool  # True: the answer holds quotations of the context and nothing else


class AnswerQuestion(Component):
    """Returns the answer of a model to the step's context."""

    rests = True

    @action("answer_question", effect="none", asks_model=True)
    def execute(self, asked: AnswerQuestionParameters, step: ActionStep) -> AnswerQuestionResult:
        """Pass the answer on."""
        # Only what quotes knows whether the context held an answer.
        held = step.answer.get("answered", True)
        step.summary = "answered" if held else "no answer was found"
        text = str(step.answer.get("text", ""))
        return AnswerQuestionResult(text, bool(step.answer.get("extractive")))

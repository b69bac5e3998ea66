"""Steps in other forms: looked at beforehand, over a whole transcript, and from many threads."""

from collections.abc import Iterable, Mapping
from threading import Lock

from msgspec import Struct

from .decision import Clarify, Decision
from .difference import StateDiff, state_diff
from .profile import Profile
from .state import INITIAL, State


class Preview(Struct, frozen=True):
    """What a text would do."""

    decision: Decision
    before: State
    after: State

    @property
    def diff(self) -> StateDiff:
        """What would differ."""
        return state_diff(self.before, self.after)


class Replayed(Struct, frozen=True):
    """Where a transcript leads."""

    state: State  # after the last message that was taken
    question: Clarify | None  # the question that stopped it; None where all of it was taken


def preview(profile: Profile, state: State, text: str) -> Preview:
    """What *text* would do. Nothing has to be undone: states are values."""
    after, decision = profile.step(state, text)
    return Preview(decision, state, after)


def replay(
    profile: Profile, messages: Iterable[Mapping[str, object]], state: State = INITIAL
) -> Replayed:
    """The state after all that the user said in *messages*, up to the first question.

    A message has `role` and `content`; other roles, and contents that are no text, are skipped.
    """
    for message in messages:
        content = message.get("content")
        if message.get("role") != "user" or not isinstance(content, str):
            continue
        state, decision = profile.step(state, content)
        if isinstance(decision, Clarify):
            return Replayed(state, decision)
    return Replayed(state, None)


class DirectiveHolder:
    """One state for many threads: each step sees what the one before it left."""

    def __init__(self, profile: Profile, state: State = INITIAL) -> None:
        self._profile, self._state = profile, state
        self._lock = Lock()

    @property
    def state(self) -> State:
        """The state after the last finished step."""
        return self._state

    def step(self, text: str) -> Decision:
        """Take *text*, and keep the state after it."""
        with self._lock:
            self._state, decision = self._profile.step(self._state, text)
            return decision

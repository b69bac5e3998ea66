"""`@provider`: a function that answers for models."""

import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from cortex.bus import Event
from cortex.bus.events import ModelInvoke
from cortex.runtime.context import PromptBlock, counter_for, text_of
from cortex.runtime.functions import Signature, Step, StepError, made_of
from cortex.runtime.kernel import ComponentInvalidError, Config, Delivery, Serves, on
from cortex.runtime.log import BlobError
from cortex.runtime.models import Endpoint, ModelDescription, Usage, endpoints

from .failures import CallFailedError
from .model_events import announced, blocks_in, delta, failed, responded

Function = TypeVar("Function", bound=Callable[..., Any])
GONE = "it is not configured any more"


class ModelStep(Step):
    """A step that asks a model."""

    def __init__(
        self,
        event: ModelInvoke,
        delivery: Delivery,
        blocks: tuple[PromptBlock, ...],
        endpoint: Endpoint | None,
    ) -> None:
        super().__init__(event, delivery)
        self.blocks, self.prompt = blocks, text_of(blocks)
        self.endpoint = endpoint  # how config.toml says that it is asked; None where it does not

    @property
    def event(self) -> ModelInvoke:
        """The request as it was recorded."""
        event: ModelInvoke = self._event
        return event


def provider(
    name: str,
    *,
    model: Mapping[str, Any] | None = None,
    component: str = "",
    workers: int = 0,
    cpu: bool = False,
) -> Callable[[Function], Function]:
    """Have a function answer for the models of config.toml whose provider is *name*.

    It takes the text of the prompt and, where it wants that, the step; parameters after a `*` are
    ports. It returns the answer, or yields it in pieces that are shown as they come. A `StepError`
    is a model that did not answer, and its kind says whether it is asked again.

    Args:
        name: The word in config.toml, by which requests are routed.
        model: One more model that is always there, called *name*: as `{"window": 9_000, "local":
            True}`, what it takes and can.
        component: What its component is called in events, as for `action`.
        workers: How many answers a function that is not `async` gives at the same time.
        cpu: Whether it computes for long, so that it has a process of its own.

    Raises:
        ComponentInvalidError: The function cannot be a provider; the line says why.
    """
    own = _described(name, model)

    def mark(function: Function) -> Function:
        listed = list(inspect.signature(function).parameters.values())
        places = [each for each in listed if each.kind is not inspect.Parameter.KEYWORD_ONLY]
        if not 1 <= len(places) <= 2:  # the prompt and the step
            raise ComponentInvalidError(name, "takes the prompt, and the step if it wants that")
        ports = tuple(each for each in listed if each.kind is inspect.Parameter.KEYWORD_ONLY)
        awaited = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
        signature = Signature(name=name, ports=ports, awaited=awaited)

        def announces(cls: Any, config: Config) -> tuple[Serves, ...]:
            return (*cls.serves, *announced(config, name))

        handler = _handler(function, len(places), own, awaited=awaited)
        made_of(
            function,
            signature,
            (Serves("model", own.name, traits=msgspec.to_builtins(own)),) if own else (),
            "invoke",
            on(ModelInvoke, where={"provider": name})(handler),
            ("blobs", "config"),
            {
                "announces": classmethod(announces),
                "component": component,
                "workers": workers or 1,
                "cpu": cpu,
            },
        )
        return function

    return mark


def _handler(
    function: Callable[..., Any], places: int, own: ModelDescription | None, *, awaited: bool
) -> Callable[..., Any]:
    """The component's handler, which answers with *function*, called with so many arguments."""

    def begin(self: Any, event: ModelInvoke, delivery: Delivery) -> "_Answering":
        return _Answering(self, function, places, own, event, delivery)

    def invoke(self: Any, event: ModelInvoke, delivery: Delivery) -> Iterator[Event]:
        yield from begin(self, event, delivery).answer()

    async def invoke_async(
        self: Any, event: ModelInvoke, delivery: Delivery
    ) -> AsyncIterator[Event]:
        async for each in begin(self, event, delivery).answer_async():
            yield each

    return invoke_async if awaited else invoke


def _described(name: str, model: Mapping[str, Any] | None) -> ModelDescription | None:
    if model is None:
        return None
    try:
        return msgspec.convert({"name": name, "provider": name, **model}, ModelDescription)
    except msgspec.ValidationError as error:
        raise ComponentInvalidError(name, f"describes its model wrongly: {error}") from None


class _Answering:
    """One request, on its way to its answer."""

    def __init__(
        self,
        component: Any,
        function: Callable[..., Any],
        places: int,
        own: ModelDescription | None,
        event: ModelInvoke,
        delivery: Delivery,
    ) -> None:
        self._component, self._function, self._places = component, function, places
        self._event, self._delivery = event, delivery
        known = endpoints(component.given["config"].models, event.provider)
        self._endpoint = known.get(event.model)
        described = self._endpoint.description if self._endpoint else None
        self._model = described or (own if own and own.name == event.model else None)
        self._prompt = ""

    def answer(self) -> Iterator[Event]:
        """The pieces, then the answer or why there is none."""
        pieces: list[str] = []
        try:
            given = self._call()
            for text in given if inspect.isgenerator(given) else ():
                yield delta(self._event, len(pieces), str(text))
                pieces.append(str(text))
            if not inspect.isgenerator(given):
                pieces.append(given)
        except (BlobError, CallFailedError, StepError) as error:
            yield self._failed(error)
            return
        yield self._responded(pieces)

    async def answer_async(self) -> AsyncIterator[Event]:
        """As `answer`; where it waits it may be cancelled."""
        pieces: list[str] = []
        try:
            given = self._call()
            if not inspect.isasyncgen(given):
                pieces.append(await given)
            else:
                async for text in given:
                    yield delta(self._event, len(pieces), str(text))
                    pieces.append(str(text))
        except (BlobError, CallFailedError, StepError) as error:
            yield self._failed(error)
            return
        yield self._responded(pieces)

    def _call(self) -> Any:
        if self._model is None:
            raise CallFailedError("missing", GONE)
        blocks = blocks_in(self._component.given["blobs"], self._event)
        step = ModelStep(self._event, self._delivery, blocks, self._endpoint)
        self._prompt = step.prompt
        given = (self._prompt, step)[: self._places]
        return self._function(*given, **self._component.asked_for)

    def _responded(self, pieces: Sequence[str]) -> Event:
        text, model = "".join(pieces), self._model
        if model is None:
            return self._failed(CallFailedError("missing", GONE))
        count = counter_for(model.encoding).count
        try:
            usage = Usage(input=count(self._prompt), output=count(text))
            return responded(self._event, model, text, usage)
        except CallFailedError as error:  # no event holds so much
            return self._failed(error)

    def _failed(self, error: BlobError | CallFailedError | StepError) -> Event:
        if isinstance(error, CallFailedError):
            return failed(self._event, error)
        kind = error.kind if isinstance(error, StepError) else "failed"
        event = failed(self._event, CallFailedError(kind, str(error)))
        wanted = isinstance(error, StepError) and error.retry and event.retry
        return msgspec.structs.replace(event, retry=wanted)

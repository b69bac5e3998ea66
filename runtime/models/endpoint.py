"""From configured models to what is announced of them, and to where they are asked."""

import msgspec

from .catalogue import KnownModel, catalogue
from .configured import ModelConfig, ModelsConfig
from .description import Caching, ModelDescription, Price

ASSUMED_WINDOW = 8_192  # tokens, unless configured: the default of most servers


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """How a provider asks one model. It stays in the process: no event or log line holds it."""

    description: ModelDescription  # what is announced, with the price
    base_url: str  # "" for providers that are embedded; http://localhost/... through a socket
    socket: str  # path of a unix socket that requests go through; "" for none
    key_env: str  # name of the variable that holds the key, read at each call; "" for none
    max_parallel: int
    log: str
    structured: str  # "native" or "prompt"
    usage_in_stream: bool
    max_tokens_field: str

    @property
    def model(self) -> str:
        """What the endpoint calls the model."""
        return self.description.model


def describe(models: ModelsConfig) -> tuple[ModelDescription, ...]:
    """What is announced of the configured models, the catalogue filling what they leave out."""
    return tuple(description_of(model) for model in models.use)


def endpoints(models: ModelsConfig, provider: str) -> dict[str, Endpoint]:
    """How *provider* asks its models, by their names."""
    return {m.name: endpoint_of(m) for m in models.use if m.provider == provider}


def description_of(model: ModelConfig) -> ModelDescription:
    """What is announced of one model."""
    known = catalogue().find(model.provider, model.id)
    assumed = known or KnownModel(model.provider, ASSUMED_WINDOW)
    return ModelDescription(
        name=model.name,
        provider=model.provider,
        model=model.id,
        window=model.window or assumed.window,
        local=model.is_embedded if model.local is None else model.local,
        reasoning=model.reasoning or assumed.reasoning,
        code=model.code or assumed.code,
        speed=model.speed or assumed.speed,
        tools=model.tools,
        encoding=model.encoding,
        price=_price(model, assumed.price if model.at_vendor else Price()),
        # Who else serves a model under its name keeps prefixes by rules of their own.
        caching=catalogue().caching(model.provider, model.id) if model.at_vendor else Caching(),
    )


def endpoint_of(model: ModelConfig) -> Endpoint:
    """How one model is asked."""
    vendor, address = catalogue().vendor(model.provider), model.address
    base_url = (model.base_url or (vendor.base_url if vendor else "")).rstrip("/")
    socket = address.socket if address else ""
    if socket:
        base_url = f"http://localhost{vendor.path if vendor else ''}"
    # The vendor's variable is for the vendor: its key must not reach anybody else's endpoint.
    usual = vendor.key_env if vendor and model.at_vendor else ""
    field = "max_completion_tokens" if model.at_vendor else "max_tokens"
    return Endpoint(
        description=description_of(model),
        base_url=base_url,
        socket=socket,
        key_env=usual if model.key_env is None else model.key_env,
        max_parallel=model.max_parallel,
        log=model.log,
        structured=model.structured or ("native" if model.at_vendor else "prompt"),
        usage_in_stream=model.usage_in_stream,
        max_tokens_field=model.max_tokens_field or field,
    )


def _price(model: ModelConfig, known: Price) -> Price:
    stated = model.price_input
    fresh = known.input if stated is None else stated
    # Whoever states a price and none for cached tokens pays the full one for them.
    read = known.cached_read if stated is None else fresh
    write = known.cached_write if stated is None else fresh
    return Price(
        input=fresh,
        cached_read=read if model.price_cached_read is None else model.price_cached_read,
        cached_write=write if model.price_cached_write is None else model.price_cached_write,
        output=known.output if model.price_output is None else model.price_output,
    )

"""Models as config.toml names them, one table each, checked as a whole."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Annotated, Literal

from msgspec import Meta, Struct

from cortex.bus import CortexError, with_fields

from .address import Address, address_of
from .catalogue import catalogue
from .description import Level

EMBEDDED_MODEL = "extractive"  # the name that is always taken
NEAR = 0.8  # how like one of ours a provider's name is before it counts as misspelled
LONGEST = 256  # characters of what an endpoint calls a model; some call it by its path
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}")
_PROVIDER = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_IN_KEYRING = re.compile(r"keyring:[!-~]{1,100}/[!-.0-~]{1,100}")
# Keys begin so, whatever else could be the name of a variable.
_KEYS = re.compile(r"(?:sk|pk|rk|gsk|hf|xai|ghp|gho|pat|AIza|AKIA|eyJ)[-_A-Z0-9a-z]{12,}")
_MIXED = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d).{20,}|[0-9a-f]{32,}")
# The same where names of models stand, which are far from the names of variables.
_PASTED = re.compile(
    r"(?:[spr]k-|gsk_|hf_|gh[oprsu]_|github_pat_|glpat-|xox[abps]-|AIza|AKIA|ASIA|eyJ)"
    r"[-_A-Z0-9a-z]{12,}"
)
_RANDOM = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z0-9]{32,}|[0-9a-f]{32,}")
_PASTED_KEY = (
    "this looks like a key itself: put the key into an environment variable, name that {where}, "
    "and withdraw the key if others can read this file"
)
Dollars = Annotated[float, Meta(ge=0, le=1_000_000)]
Tokens = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Calls = Annotated[int, Meta(ge=1, le=10_000)]


class ModelConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One model that may be asked, and where it is."""

    name: Annotated[str, Meta(description="your name for it; no two models share a name")]
    provider: Annotated[
        str,
        Meta(
            description="the provider that asks it: `openai` (every endpoint with its protocol), "
            "`anthropic`, `human`, `replay`, or the name of your own component"
        ),
    ]
    model: Annotated[
        str, Meta(description="the endpoint's name for it; unless set, the same as `name`")
    ] = ""
    base_url: Annotated[
        str,
        Meta(
            description="its endpoint, `https://HOST/v1`, `http://127.0.0.1:PORT/v1` or "
            "`unix:///PATH`; unless set, the vendor's own"
        ),
    ] = ""
    insecure: Annotated[
        bool, Meta(description="allow plain http to another host: others can read prompts and key")
    ] = False
    key_env: Annotated[
        str | None,
        Meta(
            description="NAME of the environment variable with the key, or "
            "`keyring:SERVICE/NAME`; unless set, the vendor's usual one for the "
            "vendor's own endpoint, and none for any other"
        ),
    ] = None
    local: Annotated[
        bool | None,
        Meta(
            description="whether prompts stay on this host: the endpoint must be on it, and must "
            "not pass prompts on; unless set, true for providers without an endpoint"
        ),
    ] = None
    window: Annotated[Tokens | None, Meta(description="tokens of prompt and answer together")] = (
        None
    )
    reasoning: Annotated[Level | None, Meta(description="how well it reasons")] = None
    code: Annotated[Level | None, Meta(description="how well it writes code")] = None
    speed: Annotated[Level | None, Meta(description="how fast it answers")] = None
    tools: Annotated[
        bool, Meta(description="whether it takes tools; false if its endpoint refuses them")
    ] = True
    encoding: Annotated[
        Literal["o200k_base", "cl100k_base", "unknown"],
        Meta(
            description="how its tokens are counted; unknown: one token for each byte, the maximum"
        ),
    ] = "o200k_base"
    price_input: Annotated[
        Dollars | None, Meta(description="US dollars for a million tokens of prompt")
    ] = None
    price_cached_read: Annotated[
        Dollars | None,
        Meta(description="US dollars for a million tokens that the endpoint had cached"),
    ] = None
    price_cached_write: Annotated[
        Dollars | None,
        Meta(description="US dollars for a million tokens that it caches for a later call"),
    ] = None
    price_output: Annotated[
        Dollars | None, Meta(description="US dollars for a million tokens of answer")
    ] = None
    max_parallel: Annotated[Calls, Meta(description="calls at a time")] = 64
    log: Annotated[
        str,
        Meta(
            description="for `replay`: the home or log.db with the recorded answers; a relative "
            "path starts at the home's folder"
        ),
    ] = ""
    structured: Annotated[
        Literal["native", "prompt"] | None,
        Meta(
            description="how Cortex requests an answer's schema: by the endpoint's own means or "
            "only in the prompt; unless set, native at the vendor's own endpoint"
        ),
    ] = None
    usage_in_stream: Annotated[
        bool, Meta(description="ask for the tokens used at the end of a stream")
    ] = True
    max_tokens_field: Annotated[
        Literal["max_tokens", "max_completion_tokens"] | None,
        Meta(
            description="the endpoint's name for the maximum length of an answer; unless set, "
            "max_completion_tokens at the vendor's own, max_tokens at any other"
        ),
    ] = None

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            ModelConfigError: The first thing that is wrong.
        """
        for key, problem in faults_of(self):
            raise ModelConfigError((key,), problem)

    @property
    def id(self) -> str:
        """What the endpoint calls it."""
        return self.model or self.name

    @property
    def address(self) -> Address | None:
        """Where its endpoint is; None where it has none."""
        vendor = catalogue().vendor(self.provider)
        return address_of(self.base_url or (vendor.base_url if vendor else ""))

    @property
    def at_vendor(self) -> bool:
        """Whether it is asked at its vendor's own endpoint."""
        return not self.base_url and catalogue().vendor(self.provider) is not None

    @property
    def is_embedded(self) -> bool:
        """Whether its provider has no endpoint and answers on this host."""
        return catalogue().is_embedded(self.provider)


class ModelsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Which models are asked."""

    default: Annotated[
        str,
        Meta(
            description='model to choose if it meets what a step needs; "" chooses by needs alone'
        ),
    ] = ""
    max_cost: Annotated[
        Dollars | None,
        Meta(description="US dollars that an execution may spend on models; unless set, no limit"),
    ] = None
    use: Annotated[tuple[ModelConfig, ...], Meta(description="models, one table each")] = ()

    def __post_init__(self) -> None:
        """Refuse a name that is given twice.

        Raises:
            ModelConfigError: There is one.
        """
        seen: set[str] = set()
        for number, model in enumerate(self.use):
            if model.name in seen:
                keys = ("use", str(number), "name")
                raise ModelConfigError(keys, f"another model is called {model.name!r} already")
            seen.add(model.name)


def faults_of(model: ModelConfig) -> Iterator[tuple[str, str]]:
    """Keys of *model* whose values cannot be, and why; no message repeats what may be a secret."""
    for key, value in (("name", model.name), ("model", model.model)):
        if _PASTED.fullmatch(value) or _RANDOM.fullmatch(value):
            yield key, _PASTED_KEY.format(where="in `key_env`")
    if not _NAME.fullmatch(model.name):
        yield "name", "expected up to 64 letters, digits and . _ : / -, a letter or digit first"
    if model.name == EMBEDDED_MODEL:
        yield "name", f"{EMBEDDED_MODEL} is the embedded model: take another name"
    if len(model.model) > LONGEST or not model.model.isprintable():
        yield "model", f"expected up to {LONGEST} characters that can be printed"
    if not _PROVIDER.fullmatch(model.provider):
        yield "provider", "expected a word in small letters, as `openai`"
    if problem := _wrong_url(model, model.address):
        yield "base_url", problem
    if problem := _wrong_place(model, model.address):
        yield "local", problem
    if model.key_env and (problem := _wrong_variable(model.key_env)):
        yield "key_env", problem
    elif near := _misspelled(model.provider):
        yield "provider", f"there is no provider {model.provider!r}: did you mean {near!r}?"
    if model.provider == "replay" and not model.log:
        yield "provider", "replay needs `log`, the home or log.db whose answers are given again"
    if not _has_price(model):
        problem = (
            f"it is not set, and the price of {model.id!r} is not known: set price_input and "
            "price_output, US dollars a million tokens (0 where it costs nothing)"
        )
        yield ("price_input" if model.price_input is None else "price_output"), problem


def _misspelled(provider: str) -> str:
    """The provider of Cortex that is meant; empty where it is right, or a component's own."""
    known = catalogue().providers
    near = get_close_matches(provider, known, n=1, cutoff=NEAR)
    # A name that has one of ours in it was chosen so: `openai2`, `team-openai`.
    return near[0] if near and provider not in known and near[0] not in provider else ""


def _wrong_url(model: ModelConfig, address: Address | None) -> str:
    if model.base_url and model.is_embedded:
        return f"{model.provider} has no endpoint: leave base_url out"
    if model.base_url and (address is None or any(map(_PASTED.fullmatch, address.path.split("/")))):
        return (
            "expected `https://HOST/PATH`, `http://127.0.0.1:PORT/PATH` or `unix:///PATH`, without "
            "user, password, query or `..` (a key is named by `key_env`)"
        )
    if address is None or address.scheme == "https" or address.on_this_host or model.insecure:
        return ""
    return (
        f"plain http to {address} shows prompts and key to everyone on the way: use https, or set "
        "insecure = true"
    )


def _wrong_place(model: ModelConfig, address: Address | None) -> str:
    if not model.local or (address is not None and address.on_this_host):
        return ""
    if address is None:
        alone = "set base_url, too: only an endpoint on this host is local"
        return "" if model.is_embedded else alone
    return (
        f"{address} is not on this host: use 127.0.0.1, localhost, [::1] or a unix socket, or "
        "leave local out"
    )


def _wrong_variable(value: str) -> str:
    if value.lower().startswith("sk-") or _KEYS.fullmatch(value) or _MIXED.fullmatch(value):
        return _PASTED_KEY.format(where="here")
    if _VARIABLE.fullmatch(value) or _IN_KEYRING.fullmatch(value):
        return ""
    return (
        "expected the name of an environment variable, as `OPENAI_API_KEY`, or an entry of the "
        "system's keyring, as `keyring:cortex/openai`"
    )


def _has_price(model: ModelConfig) -> bool:
    # A model without a price would be the cheapest of all, and no budget would bound it.
    if model.price_input is not None and model.price_output is not None:
        return True
    address = model.address
    if model.is_embedded or (address is not None and address.on_this_host):
        return True
    return model.at_vendor and catalogue().find(model.provider, model.id) is not None


@with_fields
class ModelConfigError(CortexError, ValueError):
    """A model is configured with something that cannot be."""

    keys: tuple[str, ...]  # from the configured table to the value
    problem: str

    def __str__(self) -> str:
        return f"{'.'.join(self.keys)}: {self.problem}"

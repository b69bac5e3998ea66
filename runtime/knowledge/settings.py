"""What can be set about knowledge."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class KnowledgeConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How knowledge is found."""

    embedder: Annotated[
        Literal["auto", "static", "hashing", "local", "endpoint", "none"],
        Meta(
            description='how to compare by meaning: "static" looks words up in a table (the extra '
            '`static`), "hashing" needs nothing, "auto" is the first of these two that is '
            'installed, "local" runs a model here (the extra `embeddings`), "endpoint" asks an '
            "OpenAI-compatible service"
        ),
    ] = "auto"
    model: Annotated[
        str,
        Meta(
            description="for a local embedder, the folder with model.onnx and tokenizer.json; for "
            "an endpoint, the model's name"
        ),
    ] = ""
    base_url: Annotated[str, Meta(description="the endpoint's URL, as in https://HOST/v1")] = ""
    key_env: Annotated[
        str,
        Meta(
            description="name of the environment variable that holds the endpoint's key, or "
            "`keyring:SERVICE/NAME`"
        ),
    ] = ""

    watch: Annotated[
        bool, Meta(description="whether a hub that is up indexes files soon after they change")
    ] = True

    def __post_init__(self) -> None:
        """Refuse an embedder without what it needs."""
        if self.embedder in ("local", "endpoint") and not self.model:
            raise ValueError(f'the embedder "{self.embedder}" needs `model`')
        if self.embedder == "endpoint" and not self.base_url.startswith(("https://", "http://")):
            raise ValueError("an endpoint needs `base_url`, as in https://HOST/v1")

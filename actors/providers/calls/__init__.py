"""What providers share that ask a model over HTTP: from a prompt to the events of its answer."""

from .answer import CallPiece, ModelAnswer, Piece, UsagePiece, parsed
from .caller import Caller, Dialect, HttpProvider
from .failures import CallFailedError, failure_of, failure_of_frame
from .functions import ModelStep, provider
from .model_events import announced, blocks_in, delta, failed, responded
from .schemas import native_schema
from .web import Connection, Frames, kept

__all__ = [
    "CallFailedError",
    "CallPiece",
    "Caller",
    "Connection",
    "Dialect",
    "Frames",
    "HttpProvider",
    "ModelAnswer",
    "ModelStep",
    "Piece",
    "UsagePiece",
    "announced",
    "blocks_in",
    "delta",
    "failed",
    "failure_of",
    "failure_of_frame",
    "kept",
    "native_schema",
    "parsed",
    "provider",
    "responded",
]

"""Model providers: each answers `model.invoke` for the models it announces."""

from .extractive_provider import ExtractiveProvider

__all__ = ["ExtractiveProvider"]

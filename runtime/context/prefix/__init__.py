"""Prefix economy: what an endpoint's prompt cache is worth, and when to write a prefix anew."""

from .cache import Bill, CacheBlock, ProviderCache, bill_of
from .rent_or_buy import RentOrBuy

__all__ = ["Bill", "CacheBlock", "ProviderCache", "RentOrBuy", "bill_of"]

"""Prefix economy: what an endpoint's prompt cache is worth, and when to write a prefix anew."""

from .bill import Bill, bill_of
from .cache import CacheBlock, ProviderCache
from .rent_or_buy import RentOrBuy

__all__ = ["Bill", "CacheBlock", "ProviderCache", "RentOrBuy", "bill_of"]

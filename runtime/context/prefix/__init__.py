"""Prefix economy: what an endpoint's prompt cache is worth, and when to write a prefix anew."""

from .bill import Bill, bill_of
from .cache import Block, ProviderCache
from .rent_or_buy import RentOrBuy

__all__ = ["Bill", "Block", "ProviderCache", "RentOrBuy", "bill_of"]

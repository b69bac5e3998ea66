"""Amounts of money as options take them."""

from math import isnan
from typing import Any

import click

MOST_USD = 1_000_000_000.0


class _Dollars(click.FloatRange):
    """US dollars; what is no number is compared with nothing, and would bound nothing."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        amount: float = super().convert(value, param, ctx)
        if isnan(amount):
            self.fail(f"{value!r} is not an amount of US dollars", param, ctx)
        return amount


DOLLARS = _Dollars(min=0.0, max=MOST_USD)

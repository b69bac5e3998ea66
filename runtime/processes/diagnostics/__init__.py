"""Diagnostics of the compiler: their codes, and the exceptions made of them."""

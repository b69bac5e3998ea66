"""A home: its folder, its settings, and the secrets that are masked in it."""

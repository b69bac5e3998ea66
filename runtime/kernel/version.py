"""Which version of Cortex this is; the package takes it from here."""

VERSION = "0.1.0"

"""Runs the real hub, feeds, supervision and components on virtual time, with seeded faults."""

from .errors import PromiseBrokenError
from .faults import Faults
from .scenario import Role, Run, Scenario
from .simulate import simulate

__all__ = ["Faults", "PromiseBrokenError", "Role", "Run", "Scenario", "simulate"]

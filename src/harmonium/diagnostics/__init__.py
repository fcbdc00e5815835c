"""Diagnostics: how fast chains mix, and whether a model was trained at equilibrium."""

from .base import Mixing as Mixing
from .base import Observable as Observable
from .chain_observables import observables as observables
from .equilibrium_report import EquilibriumReport as EquilibriumReport
from .equilibrium_report import equilibrium as equilibrium
from .relaxation import mixing as mixing
from .relaxation import trace as trace

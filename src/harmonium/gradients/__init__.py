"""How the likelihood climbs: one file a method, all of them fulfilling `AbstractGradient`."""

from .base import About as About
from .base import AbstractGradient as AbstractGradient
from .base import PhaseInfo as PhaseInfo
from .base import Standing as Standing
from .base import cloud_gradient as cloud_gradient
from .base import free_energy_gap as free_energy_gap
from .base import mean_free_energy as mean_free_energy
from .blend import Blend as Blend
from .contrastive import Contrastive as Contrastive
from .coupled import Coupled as Coupled
from .exact import Exact as Exact
from .fast import FastPersistent as FastPersistent
from .jarzynski import Jarzynski as Jarzynski
from .ladders import AbstractLadder as AbstractLadder
from .ladders import Tempering as Tempering
from .ladders import Trajectory as Trajectory
from .local import AbstractLocal as AbstractLocal
from .local import Discriminative as Discriminative
from .local import ProbabilityFlow as ProbabilityFlow
from .local import PseudoLikelihood as PseudoLikelihood
from .local import RatioMatching as RatioMatching
from .marginal import Marginal as Marginal
from .mean_field import MeanField as MeanField
from .pattern import PerPattern as PerPattern
from .persistent import Persistent as Persistent

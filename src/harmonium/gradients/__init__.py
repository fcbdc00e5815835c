"""Methods that estimate the likelihood gradient: one subclass of `AbstractGradient` per file."""

from .base import About as About
from .base import AbstractGradient as AbstractGradient
from .base import PhaseInfo as PhaseInfo
from .base import Status as Status
from .base import cloud_gradient as cloud_gradient
from .base import free_energy_gap as free_energy_gap
from .base import mean_free_energy as mean_free_energy
from .contrastive import Contrastive as Contrastive
from .coupled import Coupled as Coupled
from .exact import Exact as Exact
from .external import External as External
from .fast import FastPersistent as FastPersistent
from .jarzynski import Jarzynski as Jarzynski
from .mean_field import MeanField as MeanField
from .missing_values import Marginal as Marginal
from .missing_values import PerPattern as PerPattern
from .persistent import Persistent as Persistent
from .single_site import AbstractSingleSite as AbstractSingleSite
from .single_site import Discriminative as Discriminative
from .single_site import ProbabilityFlow as ProbabilityFlow
from .single_site import PseudoLikelihood as PseudoLikelihood
from .single_site import RatioMatching as RatioMatching
from .tempering import AbstractLadder as AbstractLadder
from .tempering import Tempering as Tempering
from .tempering import Trajectory as Trajectory
from .weighted_sum import WeightedSum as WeightedSum

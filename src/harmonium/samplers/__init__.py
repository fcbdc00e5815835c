"""Samplers: one subclass of `AbstractSampler` per file."""

from .annealing import AnnealedClusters as AnnealedClusters
from .annealing import Annealing as Annealing
from .annealing import anneal as anneal
from .annealing import start_annealing as start_annealing
from .base import AbstractSampler as AbstractSampler
from .base import Cloud as Cloud
from .gibbs import Gibbs as Gibbs
from .ladder_tuning import LadderReport as LadderReport
from .ladder_tuning import adapted_ladder as adapted_ladder
from .ladder_tuning import ladder_report as ladder_report
from .replica_exchange import ReplicaExchange as ReplicaExchange
from .tempered import Tempered as Tempered

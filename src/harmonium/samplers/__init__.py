"""How states are drawn: one file a sampler, all of them fulfilling `AbstractSampler`."""

from .annealing import AnnealedClusters as AnnealedClusters
from .annealing import Annealing as Annealing
from .annealing import anneal as anneal
from .annealing import start_annealing as start_annealing
from .base import AbstractSampler as AbstractSampler
from .base import Cloud as Cloud
from .exchange import ReplicaExchange as ReplicaExchange
from .gibbs import Gibbs as Gibbs
from .tempered import Tempered as Tempered
from .tracing import observables as observables

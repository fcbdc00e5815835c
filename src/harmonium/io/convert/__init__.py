"""Conversions between models and in-memory objects of other packages: one module per package."""

from .annealers import Couplings as Couplings
from .annealers import Qubo as Qubo
from .annealers import Recoded as Recoded
from .annealers import to_bernoulli as to_bernoulli
from .annealers import to_couplings as to_couplings
from .annealers import to_dimod as to_dimod
from .annealers import to_ising as to_ising
from .annealers import to_qubo as to_qubo
from .arrays import from_arrays as from_arrays
from .arrays import to_arrays as to_arrays
from .base import Parameters as Parameters
from .estimators import from_sklearn as from_sklearn
from .estimators import to_sklearn as to_sklearn
from .pytorch import from_torch as from_torch
from .pytorch import to_torch as to_torch

"""Reading and writing model files, and converting models to and from other packages' formats."""

from .convert import Couplings as Couplings
from .convert import Parameters as Parameters
from .convert import Qubo as Qubo
from .convert import Recoded as Recoded
from .convert import from_arrays as from_arrays
from .convert import from_sklearn as from_sklearn
from .convert import from_torch as from_torch
from .convert import to_arrays as to_arrays
from .convert import to_bernoulli as to_bernoulli
from .convert import to_couplings as to_couplings
from .convert import to_dimod as to_dimod
from .convert import to_ising as to_ising
from .convert import to_qubo as to_qubo
from .convert import to_sklearn as to_sklearn
from .convert import to_torch as to_torch
from .storage import load as load
from .storage import save as save

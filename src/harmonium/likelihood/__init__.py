"""Log-likelihoods and their ingredients: log Z, and sums over missing values."""

from .partition_function.annealed import Annealed as Annealed
from .partition_function.base import AbstractLogZ as AbstractLogZ
from .partition_function.base import LogZ as LogZ
from .partition_function.base import finite_z as finite_z
from .partition_function.closed_form import ClosedForm as ClosedForm
from .partition_function.closed_form import has_closed_form as has_closed_form
from .partition_function.enumerated import Enumerated as Enumerated
from .partition_function.raised import Raised as Raised
from .partition_function.raised import raise_log_likelihood as raise_log_likelihood
from .partition_function.replica_exchange import Exchanged as Exchanged
from .partition_function.replica_exchange import carried_log_z as carried_log_z
from .partition_function.replica_exchange import mbar_log_z as mbar_log_z
from .scoring import Automatic as Automatic
from .scoring import LogLikelihood as LogLikelihood
from .scoring import exact_kl as exact_kl
from .scoring import free_energies as free_energies
from .scoring import likelihood_from as likelihood_from
from .scoring import log_likelihood as log_likelihood
from .scoring import log_z as log_z

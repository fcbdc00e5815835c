"""Methods for log Z: one file for each, all of them subclasses of `AbstractLogZ`."""

from ...samplers.finite import finite_z as finite_z
from .annealed import Annealed as Annealed
from .base import AbstractLogZ as AbstractLogZ
from .base import LogZ as LogZ
from .closed_form import ClosedForm as ClosedForm
from .closed_form import has_closed_form as has_closed_form
from .enumerated import Enumerated as Enumerated
from .raised import Raised as Raised
from .raised import raise_log_likelihood as raise_log_likelihood
from .replica_exchange import Exchanged as Exchanged
from .replica_exchange import carried_log_z as carried_log_z
from .replica_exchange import mbar_log_z as mbar_log_z

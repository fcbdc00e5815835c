"""How good a machine is: one file a way of finding out."""

from .annealed import Annealed as Annealed
from .base import AbstractLogZ as AbstractLogZ
from .base import LogLikelihood as LogLikelihood
from .base import LogZ as LogZ
from .base import Mixing as Mixing
from .base import Observable as Observable
from .base import Quality as Quality
from .base import Score as Score
from .base import likelihood_from as likelihood_from
from .closed import ClosedForm as ClosedForm
from .closed import has_closed_form as has_closed_form
from .diagnostics import mixing as mixing
from .diagnostics import trace as trace
from .exact import Enumerated as Enumerated
from .exact import exact_kl as exact_kl
from .pseudolikelihood import pseudo_log_likelihoods as pseudo_log_likelihoods
from .quality import sample_quality as sample_quality
from .raised import Raised as Raised
from .raised import raise_log_likelihood as raise_log_likelihood
from .reconstruction import reconstruction_errors as reconstruction_errors
from .tempered import Exchanged as Exchanged
from .tempered import carried_log_z as carried_log_z
from .tempered import mbar_log_z as mbar_log_z

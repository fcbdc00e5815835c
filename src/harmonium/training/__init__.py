"""The loop that trains, and what acts on it."""

from .autopilot import Autopilot as Autopilot
from .loop import DivergenceWarning as DivergenceWarning
from .loop import fit as fit
from .methods import METHOD_NAMES as METHOD_NAMES
from .methods import method_named as method_named
from .optimizers import Recipe as Recipe
from .optimizers import averaged as averaged
from .optimizers import centred as centred
from .optimizers import hold_then_fall as hold_then_fall
from .optimizers import scheduled as scheduled
from .optimizers import weights_only as weights_only
from .plan import begin as begin
from .state import Fit as Fit
from .state import Report as Report
from .state import TrainState as TrainState
from .stream import absorb as absorb

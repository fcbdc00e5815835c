"""The loop that trains, and what acts on it."""

from .centring import centred as centred
from .centring import enhanced as enhanced
from .loop import DivergenceWarning as DivergenceWarning
from .loop import fit as fit
from .optimizers import Recipe as Recipe
from .optimizers import averaged as averaged
from .optimizers import weights_only as weights_only
from .penalties import L1 as L1
from .penalties import AbstractPenalty as AbstractPenalty
from .penalties import GroupLasso as GroupLasso
from .penalties import MaxNorm as MaxNorm
from .penalties import SquaredL1 as SquaredL1
from .penalties import proximal as proximal
from .penalties import tiles as tiles
from .plan import begin as begin
from .schedules import hold_then_fall as hold_then_fall
from .schedules import ramped_momentum as ramped_momentum
from .schedules import scheduled as scheduled
from .sparsity import sparse_activity as sparse_activity
from .state import Fit as Fit
from .state import Report as Report
from .state import TrainState as TrainState
from .stopping import EarlyStopping as EarlyStopping
from .stream import absorb as absorb

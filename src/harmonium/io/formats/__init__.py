"""Model file formats: one module per format, each implementing `AbstractFormat`."""

from .annealer import AnnealerModel as AnnealerModel
from .archive import Archive as Archive
from .base import AbstractFormat as AbstractFormat
from .native import Native as Native
from .rbms import RbmsHistory as RbmsHistory
from .state_dict import StateDict as StateDict

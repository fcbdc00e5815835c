"""Functions that build a model from rows or from another model."""

from .deep_machines import deep as deep
from .deep_machines import deepen as deepen
from .initialization import initialize as initialize
from .precision import precision_timing as precision_timing
from .precision import rounded as rounded
from .sharpen import sharpened as sharpened
from .standardize import Standardization as Standardization
from .standardize import standardization as standardization

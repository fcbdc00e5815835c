"""Forms of the weight matrix W: one file for each, all of them subclasses of `AbstractWeights`."""

from .base import AbstractWeights as AbstractWeights
from .masked import MaskedWeights as MaskedWeights
from .rounded import Rounded as Rounded
from .scaled import Scaled as Scaled

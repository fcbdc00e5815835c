"""Forms of the weight matrix W: one file per form, each a subclass of `AbstractWeights`."""

from .base import AbstractWeights as AbstractWeights
from .blocks import BlockWeights as BlockWeights
from .masked import MaskedWeights as MaskedWeights
from .rounded import Rounded as Rounded
from .scaled import Scaled as Scaled

"""What W is kept as: one file a kind, all of them fulfilling `AbstractWeights`."""

from .base import AbstractWeights as AbstractWeights
from .masked import MaskedWeights as MaskedWeights
from .rounded import Rounded as Rounded
from .scaled import Scaled as Scaled

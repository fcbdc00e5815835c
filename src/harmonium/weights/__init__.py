"""Representations of the weight matrix W: one subclass of `AbstractWeights` per file."""

from .base import AbstractWeights as AbstractWeights
from .blocks import BlockWeights as BlockWeights
from .convolutional import ConvolutionalWeights as ConvolutionalWeights
from .masked import MaskedWeights as MaskedWeights
from .rounded import Rounded as Rounded
from .scaled import Scaled as Scaled

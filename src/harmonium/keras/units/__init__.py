"""The types of units, written with Keras operations: one module for each subclass of `Unit`."""

from .base import Unit as Unit
from .gaussian import Gaussian as Gaussian
from .potts import Potts as Potts
from .two_valued import Bernoulli as Bernoulli
from .two_valued import Ising as Ising

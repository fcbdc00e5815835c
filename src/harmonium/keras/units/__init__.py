"""Types of units in Keras operations: one module for each type, all implementing `Unit`."""

from .base import Unit as Unit
from .bernoulli import Bernoulli as Bernoulli
from .gaussian import Gaussian as Gaussian
from .ising import Ising as Ising
from .potts import Potts as Potts

"""What a unit is, in Keras's operations: one file a type, all of them fulfilling `Unit`."""

from .base import Unit as Unit
from .bernoulli import Bernoulli as Bernoulli
from .gaussian import Gaussian as Gaussian
from .ising import Ising as Ising
from .potts import Potts as Potts

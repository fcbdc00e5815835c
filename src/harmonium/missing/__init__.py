"""Missing values: sums over missing units and draws of them, given the seen units of a row."""

from .imputation import Imputation as Imputation
from .imputation import impute as impute

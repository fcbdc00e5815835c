"""Missing values: sums and draws given what is seen of a row."""

from .imputation import Imputation as Imputation
from .imputation import impute as impute

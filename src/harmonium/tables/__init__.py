"""Tables of words, numbers and dates, possibly with missing cells."""

from .columns import Columns as Columns
from .columns import load_columns as load_columns
from .frames import Frame as Frame
from .frames import RawColumn as RawColumn
from .inference import columns_from as columns_from
from .inference import columns_of as columns_of

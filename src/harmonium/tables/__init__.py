"""Tables as people have them: columns of words, numbers and dates, some cells empty."""

from .columns import Columns as Columns
from .columns import load_columns as load_columns
from .frames import Frame as Frame
from .frames import RawColumn as RawColumn
from .inference import columns_from as columns_from
from .inference import columns_of as columns_of

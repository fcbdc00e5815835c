"""Aligned sequences: file formats, alphabets, sequence weights and clusters."""

from .alignment import Alignment as Alignment
from .alignment import read_alignment as read_alignment
from .raw_alignment import RawAlignment as RawAlignment
from .raw_alignment import file_and_family as file_and_family
from .raw_alignment import is_alignment as is_alignment
from .raw_alignment import named_as_alignment as named_as_alignment
from .raw_alignment import read_sequences as read_sequences
from .similarity import Neighbours as Neighbours
from .similarity import neighbours as neighbours
from .sites import Sites as Sites

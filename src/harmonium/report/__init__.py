"""Reports as single HTML pages, in which the model can be played with."""

from .content import Rows as Rows
from .content import model_content as model_content
from .content import report_content as report_content
from .page import page_of as page_of

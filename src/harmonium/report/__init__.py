"""Reports in the form of single HTML pages, each with an interactive model."""

from .content import Rows as Rows
from .content import model_content as model_content
from .content import report_content as report_content
from .learning import watch_learning as watch_learning
from .page import page_of as page_of
from .playing import Page as Page
from .playing import play as play

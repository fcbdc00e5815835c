"""Methods for log Z: one file for each, all of them subclasses of `AbstractLogZ`."""

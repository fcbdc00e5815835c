"""Methods for log Z: one file per method, each a subclass of `AbstractLogZ`."""

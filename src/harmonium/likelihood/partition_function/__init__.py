"""Methods for log Z: each file defines one method, a subclass of `AbstractLogZ`."""

"""NumPy archives: .npz files that contain W, a and b."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np

from ..._base.files import read_npz
from ...errors import ModelFileError
from ...rbm import RBM
from ..convert.base import Parameters, model_of, parameters_of
from .base import COPY_AGAIN, AbstractFormat, first_member

NAMES = ("W", "a", "b")  # of E(v, h) = −a·v − b·h − vᵀWh
EXPECTED = "an .npz archive of arrays"


class Archive(AbstractFormat):
    """An .npz file with W (visible, hidden), a (visible bias) and b (hidden bias)."""

    suffixes = (".npz",)
    title = "an .npz with W, a and b"

    def recognises(self, start: bytes) -> bool:
        """Return whether these bytes begin a zip archive whose first member is an array."""
        return first_member(start).endswith(b".npy")

    def holds_model(self, path: Path) -> bool:
        """Return whether the archive contains W, a and b, rather than rows of data."""
        try:
            with zipfile.ZipFile(path) as archive:
                return {f"{name}.npy" for name in NAMES} <= set(archive.namelist())
        except Exception:  # whatever its contents, it is not a model
            return False

    def read(self, path: Path, part: str | None = None) -> RBM:
        """Read a model from W, a and b; if W has three axes, the visible units are Potts units."""
        arrays = read_npz(path, str(path), EXPECTED, NAMES)
        if any(array.dtype.hasobject for array in arrays.values()):
            raise ModelFileError(
                f"{path}: expected {EXPECTED}; got pickled Python objects, which are never loaded;"
                f" {COPY_AGAIN}."
            )
        missing = [name for name in NAMES if name not in arrays]
        if missing:
            raise ModelFileError(
                f"{path}: expected W (visible, hidden), a (visible bias) and b (hidden bias);"
                f" got no {' and no '.join(missing)}; rename the arrays."
            )
        return model_of(Parameters(arrays["W"], arrays["a"], arrays["b"]), str(path))

    def serialise(self, rbm: RBM, source: str) -> bytes:
        content = io.BytesIO()
        arrays = dict(zip(NAMES, parameters_of(rbm, source), strict=True))
        np.savez(content, **arrays)
        return content.getvalue()

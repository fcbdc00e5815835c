"""JSON for annealers and p-bit hardware: dimod's BinaryQuadraticModel, written but not read."""

from __future__ import annotations

import json
from pathlib import Path

from ...errors import ModelFileError
from ...rbm import RBM
from ..convert.annealers import to_dimod
from .base import AbstractFormat


class AnnealerModel(AbstractFormat):
    """A .json file that contains E(v, h), for `dimod.BinaryQuadraticModel.from_serializable`."""

    suffixes = (".json",)
    title = "a .json with a dimod model"
    is_read = False

    def recognises(self, start: bytes) -> bool:
        """Return False, since JSON files have no signature and these files cannot be read back."""
        return False

    def read(self, path: Path, part: str | None = None) -> RBM:
        """Raise an error, since a quadratic model does not identify its visible variables."""
        raise ModelFileError(
            f"{path}: expected a format that can be read; got a .json, which is only written;"
            " save the model as .safetensors too, and read that."
        )

    def serialise(self, rbm: RBM, source: str) -> bytes:
        """Return the model as JSON, with enough digits to represent every coefficient exactly."""
        model = to_dimod(rbm, source=source)
        return json.dumps(model.to_serializable(), allow_nan=False).encode()

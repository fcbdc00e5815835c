"""JSON for annealers and p-bit hardware: dimod's BinaryQuadraticModel, written and not read."""

from __future__ import annotations

import json
from pathlib import Path

from ...rbm import RBM
from ..convert.annealers import to_dimod
from .base import AbstractFormat, file_error


class AnnealerModel(AbstractFormat):
    """A .json that `dimod.BinaryQuadraticModel.from_serializable` reads, its energy E(v, h)."""

    suffixes = (".json",)
    title = "a .json with a dimod model"
    is_read = False

    def recognises(self, start: bytes) -> bool:
        """Say no: JSON has no signature, and such a file is not read."""
        return False

    def read(self, path: Path, part: str | None = None) -> RBM:
        """Refuse: which variables were visible is not for a general quadratic model to say."""
        advice = "keep the model itself as .safetensors beside it"
        raise file_error(path, "a format that is read", "a .json, only written", advice)

    def serialise(self, rbm: RBM, source: str) -> bytes:
        """Return the model as JSON, coefficients with as many digits as bring them back."""
        model = to_dimod(rbm, source=source)
        return json.dumps(model.to_serializable(), allow_nan=False).encode()

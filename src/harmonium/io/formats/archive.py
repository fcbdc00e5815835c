"""NumPy archives: .npz with W, a and b."""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path

import numpy as np

from ...rbm import RBM
from ..convert.base import Parameters, clause, model_of, parameters_of, short
from .base import (
    COPY_AGAIN,
    AbstractFormat,
    check_unpacked_size,
    file_error,
    first_member,
    parser_errors,
    shortened,
)

NAMES = ("W", "a", "b")
EXPECTED = "an .npz archive of arrays"
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class Archive(AbstractFormat):
    """An .npz with W (visible, hidden), a (visible bias) and b (hidden bias)."""

    suffixes = (".npz",)
    title = "an .npz with W, a and b"

    def recognises(self, start: bytes) -> bool:
        """Return whether these bytes begin a zip archive whose first member is an array."""
        return first_member(start).endswith(b".npy")

    def holds_model(self, path: Path) -> bool:
        """Return whether the archive has W, a and b; other archives are rows of data."""
        try:
            with zipfile.ZipFile(path) as archive:
                return {f"{name}.npy" for name in NAMES} <= set(archive.namelist())
        except (OSError, zipfile.BadZipFile):
            return False

    def read(self, path: Path, part: str | None = None) -> RBM:
        """Read W, a and b; a W with three axes makes Potts visible units."""
        with parser_errors(path, EXPECTED):
            arrays = _arrays(path)
        missing = [name for name in NAMES if name not in arrays]
        if missing:
            expected = "W (visible, hidden), a (visible bias) and b (hidden bias)"
            found = f"no {' and no '.join(missing)}"
            raise file_error(path, expected, found, "rename its arrays")
        return model_of(Parameters(*(arrays[name] for name in NAMES)), str(path))

    def serialise(self, rbm: RBM, source: str) -> bytes:
        """Return an archive of W, a and b."""
        content = io.BytesIO()
        arrays = dict(zip(NAMES, parameters_of(rbm, source), strict=True))
        np.savez(content, **arrays)
        return content.getvalue()


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """Read those of W, a and b that the archive has, after checking that they are safe to read."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename: info for info in archive.infolist()}
            present = {name: members[f"{name}.npy"] for name in NAMES if f"{name}.npy" in members}
            check_unpacked_size(path, sum(member.file_size for member in present.values()))
            return {name: _array(archive, member, path) for name, member in present.items()}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        found = f"a damaged one ({shortened(clause(error))})"
        raise file_error(path, EXPECTED, found, COPY_AGAIN) from None


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> np.ndarray:
    """Read an array; refuse Python objects and more declared entries than the member holds."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        if version not in _HEADERS:
            raise ValueError(f"version {version} of the .npy format")
        shape, _, dtype = _HEADERS[version](file)
    if dtype.hasobject:
        found = "pickled Python objects, never loaded"
        raise file_error(path, EXPECTED, found, COPY_AGAIN)
    if math.prod(shape) * dtype.itemsize > member.file_size:
        found = f"an array of shape {short(shape)} in {member.file_size:,} bytes"
        raise file_error(path, EXPECTED, found, COPY_AGAIN)
    with archive.open(member) as file:
        return np.lib.format.read_array(file, allow_pickle=False)

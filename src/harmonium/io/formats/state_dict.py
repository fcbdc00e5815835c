"""PyTorch files: zip archives of tensors and one pickle, in which only plain dicts are allowed."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..._base.files import check_unpacked_size, parser_errors
from ...errors import ModelFileError
from ...rbm import RBM
from ..convert.base import optional, short
from ..convert.pytorch import from_torch, to_torch
from .base import COPY_AGAIN, AbstractFormat, first_member

EXPECTED = "a .pt that torch.save wrote, containing only tensors"
AS_NOW = "save module.state_dict() with the torch.save of PyTorch 1.6 or newer"


class StateDict(AbstractFormat):
    """A .pt file with a state dict that contains W and two biases, under commonly used names."""

    suffixes = (".pt", ".pth")
    title = "a .pt with a PyTorch state dict"

    def recognises(self, start: bytes) -> bool:
        """Return whether these bytes begin a zip archive whose first member is a PyTorch pickle."""
        return first_member(start).endswith(b"/data.pkl")

    def read(self, path: Path, part: str | None = None) -> RBM:
        """Read a state dict, always with `torch.load(weights_only=True)`.

        Files of older formats and compiled programs (TorchScript) are rejected without being
        loaded.
        """
        torch = optional("torch", str(path))
        with parser_errors(path, EXPECTED):
            _check_archive(path)
            state = torch.load(path, map_location="cpu", weights_only=True)
            size = _largest_tensor(torch, state)
            check_unpacked_size(path, path.stat().st_size, size, COPY_AGAIN)
        return from_torch(state, source=str(path))

    def serialise(self, rbm: RBM, source: str) -> bytes:
        tensors = to_torch(rbm, source=source)
        content = io.BytesIO()
        optional("torch", source).save(tensors, content)
        return content.getvalue()


def _check_archive(path: Path) -> None:
    """Reject a file that is not a zip archive of uncompressed tensors, before torch reads it."""
    if not zipfile.is_zipfile(path):
        raise ModelFileError(f"{path}: expected {EXPECTED}; got no zip archive; {AS_NOW}.")
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        unpacked = sum(member.file_size for member in members)
        check_unpacked_size(path, path.stat().st_size, unpacked, COPY_AGAIN)
        is_program = any(member.filename.endswith("/constants.pkl") for member in members)
        is_packed = any(member.compress_type != zipfile.ZIP_STORED for member in members)
        damaged = archive.testzip()  # torch itself does not check for damage
    for is_wrong, actual in (
        (is_program, f"a TorchScript program, which is never loaded; {AS_NOW}"),
        (is_packed, f"compressed members, which torch never writes; {COPY_AGAIN}"),
        (damaged, f"a damaged member {short(damaged)}; {COPY_AGAIN}"),
    ):
        if is_wrong:
            raise ModelFileError(f"{path}: expected {EXPECTED}; got {actual}.")


# Tensors are nested at most three dicts deep: "model", "rbm_am" and the dict of tensors.
def _largest_tensor(torch: Any, state: Any, depth: int = 3) -> int:
    """Return the size in bytes that the largest tensor would have in float64.

    With a stride of 0, which repeats a single number, a small file can declare a huge tensor.
    """
    if isinstance(state, torch.Tensor):
        return 8 * state.numel()
    if isinstance(state, Mapping) and depth:
        sizes = (_largest_tensor(torch, value, depth - 1) for value in state.values())
        return max(sizes, default=0)
    return 0

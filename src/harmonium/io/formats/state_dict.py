"""PyTorch files: a zip archive with tensors and a pickle, of which only plain dicts are allowed."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...rbm import RBM
from ..convert.base import optional, short
from ..convert.pytorch import from_torch, to_torch
from .base import (
    COPY_AGAIN,
    AbstractFormat,
    file_error,
    first_member,
    other_peoples_code,
    refuse_bomb,
)

EXPECTED = "a .pt that torch.save wrote, holding tensors alone"
AS_NOW = "save module.state_dict() with the torch.save of PyTorch 1.6 or newer"


class StateDict(AbstractFormat):
    """A .pt with a state dict: W, the visible and the hidden bias, under the names in use."""

    suffixes = (".pt", ".pth")
    title = "a .pt with a PyTorch state dict"

    def recognises(self, start: bytes) -> bool:
        """Return whether a zip archive begins here whose first member is a PyTorch pickle."""
        return first_member(start).endswith(b"/data.pkl")

    def read(self, path: Path, part: str | None = None) -> RBM:
        """Read a state dict by `torch.load(weights_only=True)`, and only so.

        Files of the older formats, and compiled programs (TorchScript), are refused unopened.
        """
        torch = optional("torch", "torch", str(path))
        with other_peoples_code(path, EXPECTED):
            _check_archive(path)
            found = torch.load(path, map_location="cpu", weights_only=True)
            refuse_bomb(path, _declared(torch, found))
        return from_torch(found, source=str(path))

    def serialise(self, rbm: RBM, source: str) -> bytes:
        """Return a file with the tensors that `to_torch` gives."""
        tensors, content = to_torch(rbm, source=source), io.BytesIO()
        optional("torch", "torch", source).save(tensors, content)
        return content.getvalue()


def _check_archive(path: Path) -> None:
    """Refuse what is not a zip archive of stored tensors, before torch sees it."""
    if not zipfile.is_zipfile(path):
        raise file_error(path, EXPECTED, "no zip archive", AS_NOW)
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        refuse_bomb(path, sum(member.file_size for member in members))
        if any(member.filename.endswith("/constants.pkl") for member in members):
            raise file_error(path, EXPECTED, "a TorchScript program, never loaded", AS_NOW)
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            found = "compressed members, which torch never writes"
            raise file_error(path, EXPECTED, found, COPY_AGAIN)
        if damaged := archive.testzip():  # torch itself does not look
            raise file_error(path, EXPECTED, f"a damaged member {short(damaged)}", COPY_AGAIN)


def _declared(torch: Any, found: Any, depth: int = 3) -> int:
    """Return the bytes in float64 of all tensors: a stride of 0 repeats one number without end."""
    if isinstance(found, torch.Tensor):
        return 8 * found.numel()
    if isinstance(found, Mapping) and depth:
        return max((_declared(torch, value, depth - 1) for value in found.values()), default=0)
    return 0

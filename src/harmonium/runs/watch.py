"""Serve a page on which a run can be watched, by default only from this computer.

The page requests updates every second, and the server sends data that the run already has: nothing
is measured for the page, and watching does not affect the result. Every path on the server begins
with a secret token, which is printed once; requests for other paths are refused.
"""

from __future__ import annotations

import hmac
import html
import ipaddress
import json
import os
import secrets
import socket
import tempfile
import threading
import time
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from ..errors import InputError
from ..rbm import RBM
from ..report import model_content, page_of
from ..training import Report
from .failures import DEBUG
from .jsonable import jsonable

SECONDS_BETWEEN_MODELS = 2.0  # encoding 784 × 500 weights takes 30 ms
SECONDS_OF_INTEREST = 10.0  # time after a request in which the page counts as watched
SECONDS_TO_SAY_GOODBYE = 5.0  # wait for the last request of a page that makes one every second
SECONDS_OF_A_REQUEST = 10.0  # time after which the thread of a silent browser ends
LOOPBACK = "127.0.0.1"
EVERY_COMPUTER = ("0.0.0.0", "::")
NOT_YET = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="1">'
    '<title>A run</title><link rel="icon" href="data:,">'
    "<p>The run is reading its rows. Its progress will be shown here.</p></html>"
)


DOOR = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>A run</title>'
    '<meta http-equiv="refresh" content="0; url={url}"><a href="{url}">the run</a></html>'
)


class Watch:
    """A context manager that serves a page on one run; `update` takes the reports of `fit`.

    Attributes:
        url: the address of the page, with the secret token.
        door: a file that redirects a browser to the page until the page is first requested, or
            None.
    """

    def __init__(self, address: str = LOOPBACK):
        """Open the server's socket, so that an address in use is noticed before the run begins.

        Args:
            address: ADDRESS or ADDRESS:PORT. Other computers can see the run only if the address is
                not this computer's own, 127.0.0.1.

        Raises:
            InputError: the address does not belong to this computer, or is in use.
        """
        host, port = _parts(address)
        token = secrets.token_urlsafe(16)
        try:
            self.server = _Server((host, port), token, self)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(
                f"--watch-on {address}: expected an address of this computer with a free port, such"
                f" as 127.0.0.1:8000; got {address} ({reason}); give another address."
            ) from None
        name = socket.gethostname() if _is_any(host) else host
        if ":" in name:  # an IPv6 address, whose colons do not mark the port
            name = f"[{name.replace('%', '%25')}]"
        self.url = f"http://{name}:{self.server.server_port}/{token}/"
        self.door: Path | None = None
        self.lock = threading.Lock()
        self.goodbye = threading.Event()
        self.content: dict[str, Any] = {}
        self.records: list[dict[str, Any]] = []
        self.progress = {"epoch": 0.0, "epochs": None, "left": None, "stage": "compiling"}
        self.updates = 0
        self.version = 0
        self.model_at = 0.0
        self.model: dict[str, Any] | None = None
        self.report: dict[str, Any] | None = None
        self.asked = -np.inf

    def __enter__(self) -> Watch:
        """Start to answer requests."""
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the server; first wait a few seconds for an open page to fetch the final report."""
        self.close_door()
        if self.report is not None and self.is_watched:
            self.goodbye.wait(SECONDS_TO_SAY_GOODBYE)
        self.server.shutdown()
        self.server.server_close()

    def make_door(self) -> Path:
        """Write a file that only this user can read, which redirects a browser to the page.

        The command line of a browser, which every user of the computer can see, then does not
        contain the secret token. The file is removed when the page is first requested. It is
        written to the working folder, since browsers in containers cannot see /tmp.

        Raises:
            OSError: the folder cannot be written to.
        """
        try:
            number, name = tempfile.mkstemp(".html", "harmonium-watch-", os.curdir)
        except OSError:
            number, name = tempfile.mkstemp(".html", "harmonium-watch-")
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(DOOR.format(url=html.escape(self.url)))
        self.door = Path(name).absolute()
        return self.door

    def close_door(self) -> None:
        """Remove the file that redirects to the page, if there is one."""
        if self.door is not None:
            with suppress(OSError):
                self.door.unlink()
            self.door = None

    @property
    def is_watched(self) -> bool:
        """Whether a page has sent a request in the last ten seconds."""
        return time.monotonic() - self.asked < SECONDS_OF_INTEREST

    def begin(self, content: dict[str, Any]) -> None:
        """Show a report that has no score yet."""
        with self.lock:
            self.records = content["history"]
            self.content = content | {"kind": "live", "spectrum": None}  # a spectrum takes too long
            self.model = content["model"]

    def update(self, report: Report, rbm: RBM) -> None:
        """Store a report of `fit` and, every few seconds while a page is open, the model `rbm`."""
        is_due = time.monotonic() - self.model_at > SECONDS_BETWEEN_MODELS
        model = None
        if is_due and self.is_watched and np.isfinite(rbm.dense_weights).all():  # JSON has no NaN
            model = model_content(rbm, np.empty((0, rbm.visible.n_units)))
            self.model_at = time.monotonic()
        with self.lock:
            if report.updates <= self.updates:  # the run diverged and restarted
                self.records = []
            self.updates = report.updates
            if report.metrics:
                self.records = [*self.records, jsonable(report.metrics)]
            if model is not None:
                self.model = model
                self.version = self.version + 1
            left = float(report.seconds_left)
            self.progress = {
                "epoch": float(report.epoch),
                "epochs": float(report.epochs),
                "left": left if np.isfinite(left) else None,
                "stage": "training",
            }

    def say(self, stage: str) -> None:
        """Show what the run is doing now, such as "computing log Z"."""
        with self.lock:
            self.progress = {**self.progress, "stage": stage}

    def end(self, content: dict[str, Any]) -> None:
        """Replace the contents of the page with the final report."""
        with self.lock:
            self.report = content

    def page_now(self) -> str:
        """Return the page with the current state of the run."""
        with self.lock:
            self.close_door()
            self.asked = time.monotonic()
            if not self.content:
                return NOT_YET
            if self.report is not None:
                return page_of(self.report, self.report["title"])
            now = {"history": self.records, "model": self.model, "version": self.version}
            return page_of(self.content | now, self.content["title"], is_live=True)

    def news(self, records: int, model: int) -> dict[str, Any]:
        """Return the updates for a page that has this many records and this model version."""
        with self.lock:
            self.asked = time.monotonic()
            first = records if records <= len(self.records) else 0  # the run restarted
            return {
                "first": first,
                "records": self.records[first:],
                "progress": self.progress,
                "version": self.version,
                "model": self.model if self.version > model else None,
                "report": self.report,
            }


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], token: str, watch: Watch):
        self.token = token
        self.watch = watch
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, _Handler)

    def accepts(self, host: str) -> bool:
        """Return whether a request's Host header names this server; other names are suspicious.

        (In a DNS rebinding attack, a foreign page points its own host name to 127.0.0.1 and sends
        requests from its visitor's browser; but such a page does not know the secret token.)
        """
        before, _, port = host.rpartition(":")
        is_alone = host.endswith("]") or not port.isdigit()  # [::1] contains colons
        name = (host if is_alone else before).strip("[]")
        own = self.server_address[0]
        known = {"localhost", LOOPBACK, "::1", str(own)}
        return name in known or (
            _is_any(str(own))
            and (_is_address(name) or name in (socket.gethostname(), socket.getfqdn()))
        )

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do not report errors, which come from closed pages or malformed requests."""
        if os.environ.get(DEBUG):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = SECONDS_OF_A_REQUEST

    def do_GET(self) -> None:
        """Send the page or its updates; refuse all other requests."""
        try:
            parts = urlsplit(self.path)
        except ValueError:
            self.refuse(HTTPStatus.BAD_REQUEST)
            return
        watch = self.server.watch
        token, _, name = parts.path.removeprefix("/").partition("/")
        if not self.server.accepts(self.headers.get("Host", "")):
            self.refuse(HTTPStatus.MISDIRECTED_REQUEST)
        # The comparison takes equally long for every wrong token, so timing reveals nothing.
        elif not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self.refuse(HTTPStatus.FORBIDDEN)
        elif name == "":
            self.answer(watch.page_now(), "text/html; charset=utf-8")
        elif name == "news":
            records = _number(parts.query, "records")
            news = watch.news(records, _number(parts.query, "model"))
            self.answer(json.dumps(news, allow_nan=False), "application/json")
            if news["report"] is not None:
                watch.goodbye.set()
        else:
            self.refuse(HTTPStatus.NOT_FOUND)

    def answer(self, text: str, kind: str) -> None:
        """Send text as the answer to a request."""
        body = text.encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")  # the address holds the secret token
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status: HTTPStatus) -> None:
        """Send an HTTP status without a body."""
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the inherited name)
        """Print nothing, since the terminal shows the progress of the run."""


def _parts(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if (
        not colon
        or address.endswith("]")
        or (address.count(":") > 1 and not address.startswith("["))
    ):
        host = address
        port = "0"
    if not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise InputError(
            f"--watch-on {address}: expected ADDRESS or ADDRESS:PORT, with a port of at most 65535;"
            f" got {port!r}; write, say, 127.0.0.1:8000."
        )
    return host.strip("[]") or LOOPBACK, int(port)


def _number(query: str, name: str) -> int:
    text = parse_qs(query).get(name, ["0"])[0]
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _is_any(host: str) -> bool:
    return host in EVERY_COMPUTER


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True

"""Connections between the processes of a run, by which all learn that one of them has ended.

Each process keeps a connection to the first one, which the system closes when a process ends,
however it ends. The first process then tells the others. JAX's own runtime notices the end of a
process after minutes, or aborts at once with a page of text if it was the first one; so its
connections to its coordinator are relayed through here, and stay open until this process ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from ..errors import InputError, input_error
from .places import ADDRESS, COUNT, NUMBER, Place

SECONDS_TO_MEET = 300.0
SECONDS_BETWEEN_ATTEMPTS = 0.2
SECONDS_TO_FAIL_ALIKE = 3.0  # how far apart processes meet the same error
# The system asks every few seconds whether the other computer is still there, 20 seconds in all.
KEEP_ALIVE = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 20_000}
LOOPBACK = "127.0.0.1"
# Where to listen if all processes are on one computer: the network has nothing to say there.
ONLY_HERE = {"localhost": LOOPBACK, LOOPBACK: LOOPBACK, "::1": "::1"}
MOST_BYTES = 2**16
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Lookout:
    """One process's connections to the others, served by a thread until the process ends."""

    def __init__(
        self, place: Place, command: str, lost: int, end: Callable[[int, str | None], None]
    ):
        """Begin to listen and to connect.

        Args:
            place: of this process.
            command: what it runs, which has to be the same in all.
            lost: the exit status if a process ended and did not say why.
            end: prints a line, if there is one, and ends this process with a status.

        Raises:
            InputError: the first process cannot listen at its address.
        """
        self.place, self.command, self.lost, self.end = place, command, lost, end
        self.hosts = {place.number: socket.gethostname()}
        self.members: dict[int, asyncio.StreamWriter] = {}
        self.said_farewell: set[int] = set()
        self.leaving, self.trouble = False, ""
        self.tasks: set[Any] = set()
        self.met = threading.Event()
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True, name="lookout").start()
        self.inner = _free_port() if place.number else 0  # the first one's, when all are there
        if place.number == 0:
            self._call(self._listen())
            self._begin() if place.count == 1 else None
        else:
            self._call(self._relay())
            self._start(self._join())

    @property
    def address(self) -> str:
        """What JAX is to use as the coordinator's address, when all have met."""
        return f"{LOOPBACK}:{self.inner}"

    def meet(self, seconds: float = SECONDS_TO_MEET) -> None:
        """Wait until all processes are there.

        Raises:
            InputError: some are missing, or contradict each other.
        """
        is_there = self.met.wait(seconds)
        if self.trouble:
            raise InputError(self.trouble)
        if is_there:
            return
        place, expected = self.place, f"{self.place.count} processes within {seconds:.0f} seconds"
        if place.number == 0:
            missing = [i for i in range(place.count) if i not in self.hosts]
            names = ", ".join(map(str, missing[:10])) + (", ..." if len(missing) > 10 else "")
            found = f"{len(self.hosts)}, without {NUMBER}={names}"
        else:
            found = f"no answer of the first one at {place.host}:{place.port}"
        advice = f"start all with the same {ADDRESS} and {COUNT}; a firewall may be between them"
        raise input_error("--distributed", expected, found, advice)

    def leave(self, status: int, line: str | None = None) -> None:
        """Tell the others that this process will end, so that its end is no surprise.

        Args:
            status: its exit status.
            line: what went wrong, if the others have to end too.
        """
        with suppress(TimeoutError, OSError):
            self._call(self._farewell(status, line), 5.0)

    # --- The first process ------------------------------------------------------------------

    async def _listen(self) -> None:
        place = self.place
        try:
            await asyncio.start_server(self._welcome, ONLY_HERE.get(place.host), place.port)
        except OSError as error:
            expected, found = "a free port of this computer", os.strerror(error.errno or 0)
            raise input_error(
                f"{ADDRESS}={place.host}:{place.port}", expected, found.lower(), "choose another"
            ) from None

    def _begin(self) -> None:
        # Not earlier: another process may take the port before JAX's coordinator does.
        self.inner = _free_port()
        self.met.set()

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection of another process: of its JAX, or its own."""
        with suppress(OSError, asyncio.IncompleteReadError):
            start = await reader.readexactly(1)
            if start == b"{":
                await self._member(start, reader, writer)
            else:
                await _pump((reader, writer), await _connected(LOOPBACK, self.inner), start)
                writer.close()

    async def _member(
        self, start: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        hello = _parsed(start + await reader.readline())
        number, place, host = hello.get("number"), self.place, str(hello.get("host"))
        if self.met.is_set() or type(number) is not int:  # somebody else
            writer.close()
            return
        _keep_alive(writer)
        if self.trouble or (trouble := self._contradiction(hello, number, host)):
            self.members[place.count + len(self.members)] = writer
            self.trouble = self.trouble or trouble
            self.met.set()
            return
        self.hosts[number], self.members[number] = host, writer
        if len(self.hosts) == place.count:
            self._begin()
            await self._tell({"go": self.hosts})
        try:
            while line := await reader.readline():
                said = _parsed(line)
                self.said_farewell.add(number)
                if said.get("line") is not None:
                    await self._failed(number, said)
        except OSError:  # reset by a computer that was lost
            pass
        if number not in self.said_farewell:
            line = self._ended(number)
            await self._end_all(self.lost, line, told=line)

    def _contradiction(self, hello: dict[str, Any], number: int, host: str) -> str:
        """Return what a process says that cannot be; nothing if all is well."""
        advice = "start all as in docs/devices.md"
        own = (COUNT, "count", self.place.count), ("--distributed", "command", self.command)
        for name, what, here in own:
            if (there := hello.get(what)) != here:
                found = f"{here} in process 0, {there} in process {number} on {host}"
                return str(input_error(name, f"the same {what} in all processes", found, advice))
        if number in self.hosts:
            found = f"{number} on {self.hosts[number]} and on {host}"
            return str(input_error(NUMBER, "another number in each process", found, advice))
        return ""

    async def _failed(self, number: int, said: dict[str, Any]) -> None:
        """End all since one failed, unless this process is about to fail in the same way."""
        await asyncio.sleep(SECONDS_TO_FAIL_ALIKE)
        if not self.leaving:
            line = f"process {number} on {self.hosts[number]}: {said['line']}"
            await self._end_all(int(said["status"]), line, told=None)

    async def _end_all(self, status: int, line: str, told: str | None) -> None:
        """End the others, which say what is told, and this process."""
        if not self.leaving:
            self.leaving = True
            await self._tell({"end": status, "line": told})
            self.end(status, line)

    async def _tell(self, message: dict[str, Any]) -> None:
        text = json.dumps(message).encode() + b"\n"
        for writer in self.members.values():
            with suppress(OSError):
                writer.write(text)
        for writer in self.members.values():
            with suppress(OSError, TimeoutError):
                await asyncio.wait_for(writer.drain(), 1.0)

    # --- The others -------------------------------------------------------------------------

    async def _relay(self) -> None:
        """Pass what JAX says to its coordinator on to the first process, and the answers back."""

        async def passed_on(*streams: Any) -> None:
            with suppress(OSError):
                upstream = await _connected(self.place.host, self.place.port)
                await _pump((streams[0], streams[1]), upstream)
                upstream[1].close()
            self.tasks.add(streams[1])  # kept open: JAX would abort this process

        await asyncio.start_server(passed_on, LOOPBACK, self.inner)

    async def _join(self) -> None:
        """Connect to the first process, and listen to what it says until one of both ends."""
        place = self.place
        try:
            reader, writer = await _connected(place.host, place.port)
        except OSError:
            return  # the wait for it ends with an error
        _keep_alive(writer)
        self.members[0] = writer
        hello = {"number": place.number, "count": place.count, "host": self.hosts[place.number]}
        await self._tell(hello | {"command": self.command})
        try:
            while line := await reader.readline():
                said = _parsed(line)
                if "go" in said:
                    self.hosts |= {int(number): host for number, host in said["go"].items()}
                    self.met.set()
                elif "end" in said:
                    self.end(int(said["end"]), said["line"])
                else:
                    self.said_farewell.add(0)
        except OSError:
            pass
        if 0 not in self.said_farewell:
            self.hosts.setdefault(0, place.host)
            self.end(self.lost, self._ended(0))

    # --- All --------------------------------------------------------------------------------

    async def _farewell(self, status: int, line: str | None) -> None:
        self.leaving = True
        if self.place.number == 0 and line is not None:
            await self._tell({"end": status, "line": None})
        else:
            await self._tell({"status": status, "line": line})

    def _ended(self, number: int) -> str:
        return (
            f"process {number} on {self.hosts[number]} ended without saying why; the others end"
            " too. Go on from the last checkpoint with: harmonium resume RUN --distributed"
        )

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self.tasks.add(asyncio.run_coroutine_threadsafe(work, self.loop))

    def _call(self, work: Coroutine[Any, Any, None], seconds: float | None = None) -> None:
        asyncio.run_coroutine_threadsafe(work, self.loop).result(seconds)


async def _connected(host: str, port: int) -> Streams:
    """Connect, again and again while nobody listens there yet."""
    loop = asyncio.get_running_loop()
    until = loop.time() + SECONDS_TO_MEET
    while True:
        try:
            return await asyncio.wait_for(asyncio.open_connection(host, port), 10.0)
        except (OSError, TimeoutError):
            if loop.time() > until:
                raise OSError from None
        await asyncio.sleep(SECONDS_BETWEEN_ATTEMPTS)


async def _pump(one: Streams, other: Streams, start: bytes = b"") -> None:
    """Copy bytes between two connections in both directions, until one of them ends."""
    other[1].write(start)

    async def copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while part := await reader.read(MOST_BYTES):
                writer.write(part)
                await writer.drain()

    ways = [copied(one[0], other[1]), copied(other[0], one[1])]
    tasks = [asyncio.ensure_future(way) for way in ways]
    _, others = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in others:
        task.cancel()


def _keep_alive(writer: asyncio.StreamWriter) -> None:
    """Let the system notice that the other computer is gone, which closes no connection."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEP_ALIVE.items():
        if hasattr(socket, name):  # not on every system
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _parsed(line: bytes) -> dict[str, Any]:
    """Return a message; nothing for a line of somebody else."""
    with suppress(ValueError):
        found = json.loads(line)
        return found if type(found) is dict else {}
    return {}


def _free_port() -> int:
    with socket.socket() as free:
        free.bind((LOOPBACK, 0))
        return free.getsockname()[1]

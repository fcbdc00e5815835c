"""The server of a run's page answers whom it should, and nobody else."""

import http.client
import json
import os
import re
import socket
import struct
import threading
import time
import urllib.request
import webbrowser
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import jax
import numpy as np
import pytest

import harmonium as hm
from harmonium.cli.surroundings import Surroundings
from harmonium.report import Rows, page_of, report_content
from harmonium.runs import watch as module
from harmonium.runs.watch import Watch

KEY = jax.random.key(0)
ROWS = hm.bars_and_stripes(2)
START = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.zeros((4, 3)))


def content(**more):
    summary = {"status": "training", "log_likelihood": None, "message": ""}
    rows = np.asarray(ROWS, float)
    return report_content(START, Rows(rows, rows[:0]), title="a run", summary=summary, **more)


@pytest.fixture
def watch():
    with Watch() as server:
        server.begin(content())
        yield server


def asked(watch, path, host=None, method="GET"):
    """Return the status and the text of an answer."""
    address = urlsplit(watch.url)
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=20)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host or address.netloc)
    connection.endheaders()
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def news(watch, records=0, model=0):
    path = f"{urlsplit(watch.url).path}news?records={records}&model={model}"
    status, text = asked(watch, path)
    assert status == 200
    return json.loads(text)


def test_the_page_allows_news_and_the_report_of_a_file_does_not(watch):
    status, page = asked(watch, urlsplit(watch.url).path)
    assert status == 200
    assert "connect-src 'self'" in page
    assert "connect-src" not in page_of(content(), "a file")


def test_other_words_hosts_and_paths_are_refused(watch):
    own = urlsplit(watch.url)
    word = urlsplit(watch.url).path.strip("/")
    assert asked(watch, "/")[0] == 403
    assert asked(watch, f"/{word[:-1]}x/")[0] == 403
    assert asked(watch, f"/{word}%C3%A9/")[0] == 403
    for path in ("../summary.json", "model.safetensors", "..%2f..%2fetc/passwd", "news/x", "/"):
        assert asked(watch, f"/{word}/{path}")[0] == 404
    assert asked(watch, f"/../../etc/passwd?{word}")[0] == 403
    for host in ("evil.example", f"evil.example:{own.port}", "127.0.0.1.evil.example", "10.0.0.1"):
        assert asked(watch, own.path, host)[0] == 421
    for host in (f"localhost:{own.port}", "127.0.0.1"):
        assert asked(watch, own.path, host)[0] == 200
    assert asked(watch, own.path, method="POST")[0] == 501
    for query in ("records=-1", "records=1e9", "records=%00&model=x", "records=" + "9" * 500):
        assert asked(watch, f"{own.path}news?{query}")[0] == 200


def test_other_computers_do_not_reach_it(watch):
    """It listens on the loopback address only, which no other computer can reach."""
    assert watch.server.server_address[0] == "127.0.0.1"
    assert urlsplit(watch.url).hostname == "127.0.0.1"


def test_a_page_gets_what_it_does_not_have(watch, monkeypatch):
    monkeypatch.setattr(module, "SECONDS_BETWEEN_MODELS", 0.0)
    first = news(watch)
    assert first["records"] == []
    assert first["model"] is None
    seen = []

    def follow(report):
        watch.update(report, report.rbm)
        seen.append(news(watch))

    hm.fit(START, ROWS, key=KEY, epochs=6, batch_size=6, callbacks=[follow])
    last = news(watch)
    assert last["progress"] == seen[-1]["progress"]
    assert last["progress"]["epoch"] == last["progress"]["epochs"] == 6
    assert [len(part["records"]) for part in seen] == sorted(len(part["records"]) for part in seen)
    assert last["version"] >= 2
    assert news(watch, records=len(last["records"]), model=last["version"]) | {"progress": {}} == {
        "first": len(last["records"]),
        "records": [],
        "progress": {},
        "model": None,
        "version": last["version"],
        "report": None,
    }
    watch.end(content())
    assert news(watch)["report"]["title"] == "a run"


def test_a_run_that_begins_anew_tells_its_records_anew(watch):
    reports = []
    hm.fit(START, ROWS, key=KEY, epochs=6, batch_size=6, callbacks=[reports.append])
    for report in reports:
        watch.update(report, report.rbm)
    many = len(news(watch)["records"])
    watch.update(reports[0], reports[0].rbm)
    again = news(watch, records=many)
    assert again["first"] == 0
    assert len(again["records"]) < many


def test_a_run_that_nobody_watches_waits_for_nobody():
    began = time.monotonic()
    with Watch() as watch:
        watch.begin(content())
        watch.end(content())
    assert time.monotonic() - began < module.SECONDS_TO_SAY_GOODBYE


def test_a_page_that_is_opened_before_the_rows_are_read_tries_again():
    with Watch() as watch:
        assert 'http-equiv="refresh"' in asked(watch, urlsplit(watch.url).path)[1]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1:99999", "at most 65535"),
        ("127.0.0.1:http", "ADDRESS or ADDRESS:PORT"),
        ("203.0.113.7", "an address of this computer"),
        ("no.such.name.invalid", "an address of this computer"),
    ],
)
def test_addresses_that_cannot_be_used_are_named(address, words):
    with pytest.raises(hm.InputError, match=words):
        Watch(address)


def test_an_address_in_use_is_named(watch):
    with pytest.raises(hm.InputError, match="free port"):
        Watch(f"127.0.0.1:{watch.server.server_port}")


def test_an_open_address_takes_addresses_and_the_word():
    with Watch("0.0.0.0") as watch:
        watch.begin(content())
        path = urlsplit(watch.url).path
        assert asked(watch, path, "192.0.2.1:8000")[0] == 200
        assert asked(watch, path, "evil.example")[0] == 421
        assert asked(watch, "/", "192.0.2.1:8000")[0] == 403


# --- what others on the computer see, and what the terminal does not ----------------------------


def test_a_browser_gets_a_file_of_this_user_alone(watch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    door = watch.make_door()
    assert door.parent == tmp_path
    assert watch.url.split("/")[3] not in door.as_uri()
    if os.name == "posix":
        assert door.stat().st_mode & 0o777 == 0o600
    assert f'content="0; url={watch.url}"' in door.read_text()
    asked(watch, "/wrong/")
    assert door.exists()
    assert asked(watch, urlsplit(watch.url).path)[0] == 200
    assert not door.exists()  # it has done its work


def test_the_file_goes_with_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Watch() as watch:
        watch.make_door()
        assert len(list(tmp_path.iterdir())) == 1
    assert not list(tmp_path.iterdir())


class Browser:
    """A browser that follows the file at once."""

    def __init__(self, name="firefox"):
        self.name = name
        self.status = None
        self.page = ""

    def open(self, page):
        self.page = page
        url = re.search('href="(.*?)"', Path(url2pathname(urlsplit(page).path)).read_text())[1]
        self.status = urllib.request.urlopen(url, timeout=20).status
        return True


class Said:
    """A display that remembers what it was told."""

    def __init__(self):
        self.lines = []

    def say(self, line):
        self.lines.append(line)


def opened(browser, monkeypatch, tmp_path, seconds=5.0):
    """Return what is said where a run is watched in a browser."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.get", lambda: browser)
    show = Said()
    with Surroundings(is_watched=True).watching(show) as watch:
        end = time.monotonic() + seconds
        while browser.status is None and time.monotonic() < end:
            time.sleep(0.01)
        assert show.lines == [f"watch the run at {watch.url}"]
    return watch


def test_the_server_answers_before_the_browser_is_opened(monkeypatch, tmp_path):
    browser = Browser()
    watch = opened(browser, monkeypatch, tmp_path)
    assert browser.status == 200
    assert urlsplit(watch.url).path.strip("/") not in browser.page


@pytest.mark.parametrize("name", ["w3m", "/usr/bin/lynx", "www-browser"])
def test_a_text_browser_does_not_take_the_terminal(name, monkeypatch, tmp_path):
    browser = Browser(name)
    opened(browser, monkeypatch, tmp_path, seconds=0.1)
    assert browser.page == ""
    assert not list(tmp_path.iterdir())


def test_a_browser_that_stays_in_the_foreground_does_not_hold_up_the_run(monkeypatch, tmp_path):
    browser = Browser()
    is_closed = threading.Event()
    monkeypatch.setattr(browser, "open", lambda page: is_closed.wait(60))
    began = time.monotonic()
    opened(browser, monkeypatch, tmp_path, seconds=0.0)
    assert time.monotonic() - began < 30
    is_closed.set()


def test_no_browser_is_no_error(monkeypatch, tmp_path):
    def none():
        raise webbrowser.Error("none")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.get", none)
    with Surroundings(is_watched=True).watching(Said()) as watch:
        assert asked(watch, urlsplit(watch.url).path)[0] == 200


@pytest.mark.parametrize(
    "request_",
    [
        b"GET http://[ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET //[::1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\xfc\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: x\r\nHost: \xff\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 300 + b"\r\n",
        b"GET",
        b"",
    ],
)
def test_a_request_that_is_none_prints_nothing(request_, watch, capfd):
    with socket.create_connection(("127.0.0.1", urlsplit(watch.url).port), timeout=20) as open_:
        open_.sendall(request_)
        open_.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    time.sleep(0.1)
    assert asked(watch, urlsplit(watch.url).path)[0] == 200
    assert capfd.readouterr() == ("", "")


def test_a_page_that_is_closed_while_it_is_sent_prints_nothing(watch, capfd, monkeypatch):
    monkeypatch.setattr(watch, "page_now", lambda: "x" * 50_000_000)
    path = urlsplit(watch.url).path.encode()
    with socket.create_connection(("127.0.0.1", urlsplit(watch.url).port), timeout=20) as open_:
        open_.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        open_.recv(10)
        open_.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    time.sleep(0.3)
    assert capfd.readouterr() == ("", "")


def test_an_address_of_ipv6_is_in_brackets():
    try:
        watch = Watch("::1")
    except hm.InputError:
        pytest.skip("no IPv6 here")
    with watch:
        address = urlsplit(watch.url)
        assert watch.url.startswith(f"http://[::1]:{watch.server.server_port}/")
        assert urllib.request.urlopen(watch.url, timeout=20).status == 200
        assert watch.server.accepts(address.netloc)
        assert watch.server.accepts("[::1]")
        assert not watch.server.accepts("[::2]:80")
    with Watch("[::1]:0") as again:
        assert "[::1]" in again.url

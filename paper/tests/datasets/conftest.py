"""Small data sets in the raw formats, and a local server that offers them."""

import dataclasses
import hashlib
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from attenua_paper.datasets import cache
from attenua_paper.datasets.optdigits import OPTDIGITS
from attenua_paper.datasets.raw import TextFile


def _published_data():
    named = os.environ.get("ATTENUA_DATA")
    folders = [Path(named)] if named else []
    folders.append(Path(__file__).parents[4] / "shared" / "data")
    names = ("optdigits.npz", "phoneme.npz", "har.npz")
    return next((folder for folder in folders if all((folder / name).exists() for name in names)), None)


PUBLISHED_DATA = _published_data()


@pytest.fixture(scope="session")
def published_data():
    """The folder of the published data, which are not part of the repository."""
    if PUBLISHED_DATA is None:
        pytest.skip("no published data sets; ATTENUA_DATA names their folder")
    return PUBLISHED_DATA


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    monkeypatch.delenv("ATTENUA_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


class Server:
    """A web server on this machine: `offer` content, `cut` it short, and see the requests."""

    def __init__(self):
        self.content = {}
        self.cut = set()
        self.requests = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                name = self.path.lstrip("/")
                outer.requests.append(name)
                if name not in outer.content:
                    self.send_error(404)
                    return
                content = outer.content[name]
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: len(content) // 2] if name in outer.cut else content)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def address(self, name):
        return f"http://127.0.0.1:{self.http.server_port}/{name}"

    def offer(self, name, content, cut=False):
        self.content[name] = content
        if cut:
            self.cut.add(name)
        return self.address(name)


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.http.shutdown()
    thread.join()
    server.http.server_close()


def digits_text(pixels, labels):
    return "".join(
        ",".join(map(str, [*row, label])) + "\n" for row, label in zip(pixels, labels, strict=True)
    )


@pytest.fixture
def small_digits(server):
    """Five digits in the format of Optdigits: the record, its raw files by name, and its arrays."""
    rng = np.random.default_rng(0)
    arrays = {
        "train": rng.integers(0, 17, (3, 64), dtype=np.uint8),
        "train_labels": np.array([4, 0, 9], dtype=np.uint8),
        "test": rng.integers(0, 17, (2, 64), dtype=np.uint8),
        "test_labels": np.array([7, 1], dtype=np.uint8),
    }
    files = {
        "optdigits.tra": digits_text(arrays["train"], arrays["train_labels"]).encode(),
        "optdigits.tes": digits_text(arrays["test"], arrays["test_labels"]).encode(),
    }
    raw = tuple(
        TextFile(name, (server.address(name),), hashlib.sha256(content).hexdigest())
        for name, content in files.items()
    )
    return dataclasses.replace(OPTDIGITS, raw=raw, digest=cache.digest(arrays)), files, arrays

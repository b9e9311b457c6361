"""The service of a lab book, used by real clients, and killed while they use it.

Run this file with a number to kill more often: `python tests/end_to_end/test_lab_serve.py 50`.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from amounts import amount
from berlyne import Dirichlet, LabBook
from berlyne.commands.lab_service import read_token
from berlyne.exploration.log_file import write_lock
from waiting import LIMIT, Lines

N = 5
PRIOR = Dirichlet(1.0, n_states=N, n_actions=2)
LABELS = {"states": ["hall", "den", "nest"], "actions": ["go", "stay"]}


class Service:
    """`berlyne lab serve` in a process of its own, and a client of it."""

    def __init__(self, path, token_file=None):
        more = [] if token_file is None else ["--token-file", str(token_file)]
        asked = [sys.executable, "-m", "berlyne", "lab", "serve", str(path), "--port", "0", *more]
        self.process = subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        printed = Lines(self.process.stdout.fileno()).next()
        assert printed.startswith("Serving"), self.process.communicate(timeout=LIMIT)
        self.url = printed.split(" at ")[1].split(" ")[0]
        is_printed = "(token: " in printed
        self.token = printed.split("(token: ")[1].split(")")[0] if is_printed else token_file.read_text().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop(signal.SIGTERM)

    def stop(self, how):
        self.process.send_signal(how)
        self.process.communicate(timeout=LIMIT)

    def call(self, path, fields=None, token=None):
        """Status and JSON of a request: POST if there are fields."""
        request = urllib.request.Request(
            self.url + path,
            None if fields is None else json.dumps(fields).encode(),
            {"Authorization": f"Bearer {self.token if token is None else token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=LIMIT) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def get(self, path, fields=None):
        """The JSON of a request that must succeed."""
        status, answer = self.call(path, fields)
        assert status == 200, answer
        return answer


def test_a_client_runs_an_experiment(tmp_path):
    LabBook.new(tmp_path / "lab", Dirichlet(1.0, n_states=3, n_actions=2), seed=3, **LABELS)
    with Service(tmp_path / "lab") as service:
        asked = service.get("/ask", {"state": "hall"})
        assert asked == {"state": "hall", "action": LabBook(tmp_path / "lab").ask("hall")}
        told = service.get("/tell", {"state": "hall", "action": "go", "next_state": "den", "note": "ä", "key": "1"})
        assert told == {"n_trials": 1, "n_obs": 1}
        assert service.get("/tell", {"state": "hall", "action": "go", "next_state": "den", "key": "1"}) == told
        service.get("/tell", {"state": "den", "action": "stay", "next_state": "nest", "timed_out": True})
        service.get("/tell", {"state": "den", "action": "stay", "lost": True})
        (first, cut, lost) = service.get("/history")["trials"]
        assert first["note"] == "ä" and cut["timed_out"] and lost["lost"] and lost["next_state"] is None
        LabBook(tmp_path / "lab").tell("hall", "stay", "hall")  # another process writes
        assert service.get("/status")["n_trials"] == 4
        assert service.get("/undo", {"n": 2.0})["n_trials"] == 2
        one, two = (service.get("/ask", {"state": "hall", "client": f"rig {i}"}) for i in (1, 2))
        assert service.get("/ask", {"state": "hall", "client": "rig 1"}) == one and one != two
        batch = service.get("/ask-many", {"k": 3, "state": "hall", "among": ["go"]})["trials"]
        assert [trial["action"] for trial in batch] == ["go"] * 3 and [trial["trial"] for trial in batch] == [3, 4, 5]
        assert len(service.get("/pending")["trials"]) == 5
        assert len(service.get("/give-up", {"client": "rig 2"})["given_up"]) == 1
        assert service.get("/give-up", {"trial": 4})["given_up"][0]["trial"] == 4
        missing = LabBook(tmp_path / "lab").explorer.expected_missing_information()
        status = service.get("/status?enough=8&confidence=0.9")
        assert status["missing"]["bits"] == pytest.approx(missing.bits) and status["enough"]["is_enough"]
        assert not service.get("/status?enough=0.01")["enough"]["is_enough"]
    book = LabBook(tmp_path / "lab")
    assert book.trials == [("hall", "go", "den"), ("den", "stay", "nest")] and len(book.pending) == 3


def test_requests_that_make_no_sense_are_refused_and_change_nothing(tmp_path):
    LabBook.new(tmp_path / "lab", Dirichlet(1.0, n_states=3, n_actions=2), **LABELS)
    before = (tmp_path / "lab").read_bytes()
    with Service(tmp_path / "lab", tmp_path / "token") as service:
        assert (tmp_path / "token").stat().st_mode & 0o077 == 0 and len(service.token) > 20
        for path, fields, status, word in (
            ("/ask", {}, 400, "state is missing"),
            ("/ask", {"state": "attic"}, 400, "'attic'"),
            ("/ask", {"state": "hall", "stat": 1}, 400, "unknown field 'stat'"),
            ("/ask", {"state": "hall", "client": 3}, 400, "client is 3"),
            ("/ask", {"state": {"x": 1}}, 400, "not a label"),
            ("/ask-many", {"state": "hall"}, 400, "k is missing"),
            ("/ask-many", {"state": "hall", "k": 0}, 400, "k is 0"),
            ("/tell", {"state": "hall", "action": "go"}, 400, "next_state is missing"),
            ("/tell", {"state": "hall", "action": "go", "next_state": "den", "ended": "yes"}, 400, "ended is 'yes'"),
            ("/tell", {"state": "hall", "action": "go", "next_state": "den", "lost": True}, 400, "lost"),
            ("/undo", {}, 400, "no trial"),
            ("/give-up", {"trial": 1}, 400, "not pending"),
            ("/status?enough=much", None, 400, "enough is 'much'"),
            ("/nothing", None, 404, "POST /ask"),
            ("/ask", None, 405, "POST /ask"),
        ):
            code, answer = service.call(path, fields)
            assert code == status and word in answer["error"], answer
        for token in ("", "wrong", service.token + "x"):
            code, answer = service.call("/ask", {"state": "hall"}, token=token)
            assert code == 401 and "token" in answer["error"]
        connection = http.client.HTTPConnection(service.url.removeprefix("http://"), timeout=LIMIT)
        headers = {"Authorization": f"Bearer {service.token}"}
        for body in (b"[1]", b"{", b"\xff", b"3"):
            connection.request("POST", "/ask", body, headers)
            answer = connection.getresponse()
            assert answer.status == 400 and "JSON object" in json.load(answer)["error"]
        connection.close()
    assert (tmp_path / "lab").read_bytes() == before
    assert read_token(tmp_path / "token") == service.token  # as the next service does
    for _ in range(amount(0, 1)):
        with Service(tmp_path / "lab", tmp_path / "token") as again:
            assert again.token == service.token


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_is_a_client(tmp_path):
    """As on the page about MATLAB and LabVIEW, whose clients send the same bytes."""
    LabBook.new(tmp_path / "lab", conditions=["soft", "loud"], outcomes=["heard", "not heard"])
    with Service(tmp_path / "lab") as service:

        def curl(path, *more):
            asked = ["curl", "--silent", "--max-time", "60", "-H", f"Authorization: Bearer {service.token}", *more]
            return json.loads(
                subprocess.run([*asked, service.url + path], capture_output=True, timeout=LIMIT, check=True).stdout
            )

        condition = curl("/ask", "--data", "{}")["action"]
        assert curl("/tell", "--data", json.dumps({"action": condition, "next_state": "heard"}))["n_trials"] == 1
        assert curl("/status")["n_obs"] == 1


def observation(i):
    """Trial i: told from its number."""
    return {"state": i % N, "action": (i // N) % 2, "next_state": (3 * i + i // 7) % N, "key": f"trial {i}"}


def use_until_killed(service, begin, acknowledged, enough):
    """Tell trials one after another until the service is gone; note those that were acknowledged."""
    i = begin
    while True:
        try:
            status, answer = service.call("/tell", observation(i))
        except (OSError, http.client.HTTPException):
            return
        assert (status, answer["n_trials"]) == (200, i + 1), answer
        acknowledged.append(i)
        i += 1
        if len(acknowledged) >= 2:
            enough.set()


def kill(path, times, seed=0):
    """Kill the service so often while a client tells trials; return the number of trials, and of those in doubt.

    A trial whose acknowledgement did not arrive is told again with the same key, so it is in the book exactly once.
    """
    LabBook.new(path, PRIOR, seed=1)
    rng, in_doubt = np.random.default_rng(seed), 0
    for _ in range(times):
        begin = len(LabBook(path).trials)
        acknowledged, enough = [], threading.Event()
        service = Service(path)
        # the last trial may be in the book although its acknowledgement is not known: tell it again
        client = threading.Thread(target=use_until_killed, args=(service, begin, acknowledged, enough))
        client.start()
        assert enough.wait(LIMIT)
        threading.Event().wait(float(rng.uniform(0.0, 0.02)))
        os.kill(service.process.pid, signal.SIGKILL)
        service.process.communicate(timeout=LIMIT)
        client.join(timeout=LIMIT)
        book = LabBook(path)
        n = len(book.trials)
        last = acknowledged[-1]
        assert n in (last + 1, last + 2), (n, last)  # nothing acknowledged is lost; one more may have been written
        in_doubt += n == last + 2
        book.tell(**{"s": observation(last)["state"], "a": observation(last)["action"],
                     "s_next": observation(last)["next_state"], "key": f"trial {last}"})  # fmt: skip
        assert len(LabBook(path).trials) == n
        expected = [tuple(observation(i)[name] for name in ("state", "action", "next_state")) for i in range(n)]
        assert LabBook(path).history == expected
    return n, in_doubt


def test_a_trial_is_acknowledged_after_it_is_written(tmp_path):
    """While another process writes, the service waits, so a client must wait as well."""
    LabBook.new(tmp_path / "lab", PRIOR)
    with Service(tmp_path / "lab") as service:
        service.get("/tell", observation(0))
        answered = threading.Event()

        def tell():
            service.get("/tell", observation(1))
            answered.set()

        client = threading.Thread(target=tell)
        with write_lock(tmp_path / "lab"):
            client.start()
            assert not answered.wait(0.5) and len(LabBook(tmp_path / "lab").trials) == 1
        assert answered.wait(LIMIT) and len(LabBook(tmp_path / "lab").trials) == 2
        client.join(timeout=LIMIT)


def test_nothing_acknowledged_is_lost_if_the_service_is_killed(tmp_path):
    times = amount(2, 50)
    n, _ = kill(tmp_path / "lab", times)
    assert n >= 2 * times


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print("{} trials, {} times one more than acknowledged".format(*kill(Path(folder) / "lab", int(sys.argv[1]))))

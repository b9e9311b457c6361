"""`berlyne lab serve`: a small HTTP service on the loopback address, through which other programs use a lab book.

Requests and answers are JSON objects. Every request needs the token in the header `Authorization: Bearer TOKEN`. An
answer is sent after the line is on the disk, so nothing that was acknowledged is lost if the service is killed. A
request whose answer did not arrive can be repeated: `ask` with a client gives the same answer, and `tell` with the same
`key` is recorded once.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from berlyne.commands.errors import OptionError
from berlyne.commands.lab_status import label_values, status, trial_values
from berlyne.exploration.logbook import LabBook
from berlyne.labels import label_from_json, label_to_json
from berlyne.serialization import StoreError

HOST = "127.0.0.1"
MAX_BODY = 1 << 24
"""Largest number of bytes of a request."""
Fields = dict[str, Any]


def run_service(book: LabBook, port: int, token_file: Path | None) -> None:
    """Serve a book until the process is stopped.

    Parameters
    ----------
    book : LabBook
        The book.
    port : int
        Port on the loopback address; 0 for a free one, which is printed.
    token_file : Path or None
        File with the token, which is created if it does not exist; None to print a new token.
    """
    try:
        import uvicorn
    except ModuleNotFoundError:
        raise ValueError(
            'lab serve needs Starlette and uvicorn; install them with: pip install "berlyne[serve]"'
        ) from None
    token = read_token(token_file)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except OSError as error:
            raise OptionError(f"--port is {port}, which cannot be used ({error.strerror}); use another, or 0") from None
        listening.listen()
        secret = f"token: {token}" if token_file is None else f"token in {token_file}"
        click.echo(f"Serving {book.path} at http://{HOST}:{listening.getsockname()[1]} ({secret}); stop with Ctrl+C")
        config = uvicorn.Config(make_app(book, token), log_level="warning", lifespan="off")
        uvicorn.Server(config).run(sockets=[listening])


def read_token(file: Path | None) -> str:
    """Return the token in a file, or a new one; it is written to the file if that does not exist."""
    if file is None:
        return secrets.token_urlsafe(24)
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
            token = secrets.token_urlsafe(24)
            stream.write(f"{token}\n")
            return token
    except FileExistsError:
        token = file.read_text(encoding="utf-8").strip()
    if not token or not token.isascii() or not token.isprintable():
        raise ValueError(f"{file} does not contain a token; it must be one line of printable ASCII characters")
    return token


def make_app(book: LabBook, token: str) -> Any:
    """Return the ASGI application of a book."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    lock = threading.Lock()  # a book is used by one thread at a time

    def answer(function: Callable[[LabBook, Fields], Fields]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            sent_token = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
            if not secrets.compare_digest(sent_token.encode(), token.encode()):
                return JSONResponse({"error": "the token is missing or wrong; send Authorization: Bearer TOKEN"}, 401)
            body = await request.body() if request.method == "POST" else b""
            query = dict(request.query_params)

            def call() -> tuple[Fields, int]:
                try:
                    with lock:
                        return function(book, {**query, **_parse_body(body)}), 200
                except (StoreError, OSError) as error:
                    return {"error": str(error)}, 500
                except ValueError as error:
                    return {"error": str(error)}, 400

            content, code = await run_in_threadpool(call)
            return JSONResponse(content, code)

        return endpoint

    def on_http_error(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        paths = ", ".join(f"{method} {path}" for method, path in ENDPOINTS)
        return JSONResponse({"error": f"{error.detail.lower()}; there are {paths}"}, error.status_code)

    routes = [
        Route(path, answer(function), methods=[method], name=f"{method} {path}")
        for (method, path), function in ENDPOINTS.items()
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: on_http_error})


def _parse_body(body: bytes) -> Fields:
    """Return the fields of a request."""
    if len(body) > MAX_BODY:
        raise ValueError(f"the request has {len(body):,} bytes; it must have at most {MAX_BODY:,}")
    try:
        fields = json.loads(body) if body.strip() else {}
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise ValueError("the request is not a JSON object")
    return fields


class _Reader:
    """Read the fields of a request one by one, and refuse those that are left.

    Parameters
    ----------
    fields : dict
        The fields.
    """

    def __init__(self, fields: Fields) -> None:
        self.fields, self.names = dict(fields), list[str]()

    def take(self, name: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        """Return a field of this type; `default` if it is missing or null."""
        self.names.append(name)
        value = self.fields.pop(name, None)
        if value is None:
            return default
        if kind is int and isinstance(value, float) and value.is_integer():
            value = int(value)  # programs that have no integers
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            words = {bool: "true or false", int: "a whole number", str: "text", list: "a list"}
            raise ValueError(f"{name} is {value!r:.60}; it must be {words.get(kind, 'a number')}")  # type: ignore[arg-type]
        return value

    def label(self, name: str) -> Any:
        """Return a label; `Ellipsis` if it is missing. A number without a fraction is a whole number."""
        self.names.append(name)
        return _label(self.fields.pop(name)) if name in self.fields else ...

    def labels(self, name: str) -> list[Any] | None:
        """Return a list of labels, or None if it is missing."""
        listed = self.take(name, list)
        return None if listed is None else [_label(value) for value in listed]

    def finish(self) -> None:
        """Raise a ValueError if a field is left."""
        for name in self.fields:
            raise ValueError(f"unknown field {name!r:.60}; there are {', '.join(self.names)}")


def _label(value: Any) -> Any:
    """Return the label of a JSON value; a number without a fraction is a whole number."""
    try:
        label = label_from_json(value)
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{value!r:.60} is not a label; use text or a number") from None
    return int(label) if isinstance(label, float) and label.is_integer() else label


def _state(book: LabBook, s: Any) -> Any:
    """Return the state of a question, which trials without states and relocating strategies do not have."""
    needs_state = book.has_states and not book.explorer.strategy.relocates
    if needs_state and s is ...:
        raise ValueError("state is missing; give the current state")
    if not needs_state and s is not ...:
        raise ValueError("state must be left out for this book")
    return None if s is ... else s


def _ask(book: LabBook, fields: Fields) -> Fields:
    """Choose one trial."""
    reader = _Reader(fields)
    s, among, client = reader.label("state"), reader.labels("among"), reader.take("client", str)
    reader.finish()
    s = _state(book, s)
    if book.explorer.strategy.relocates:
        s, a = book.ask_pair(client=client)
    elif not book.has_states:
        a = book.ask(among=among, client=client)
    else:
        a = book.ask(s, among, client=client)
    state = {"state": label_to_json(s)} if book.has_states else {}
    return {**state, "action": label_to_json(a)}


def _ask_many(book: LabBook, fields: Fields) -> Fields:
    """Choose several trials to do at the same time."""
    reader = _Reader(fields)
    k, s, among = reader.take("k", int), reader.label("state"), reader.labels("among")
    client = reader.take("client", str)
    reader.finish()
    if k is None:
        raise ValueError("k is missing; give the number of trials")
    before = {trial.number for trial in book.pending}
    book.ask_many(k, _state(book, s), among=among, client=client)
    return {"trials": [trial_values(trial) for trial in book.pending if trial.number not in before][-k:]}


def _tell(book: LabBook, fields: Fields) -> Fields:
    """Record a trial."""
    reader = _Reader(fields)
    labels = [reader.label(name) for name in ("state", "action", "next_state")]
    flags: dict[str, Any] = {name: reader.take(name, bool, False) for name in ("ended", "timed_out", "lost")}
    texts: dict[str, Any] = {name: reader.take(name, str) for name in ("note", "client", "key")}
    reader.finish()
    if not book.has_states:
        if labels[0] is not ...:
            raise ValueError("state must be left out for this book; action is the condition, next_state the outcome")
        labels = labels[1:]
    names = ["state"] * book.has_states + ["action"] + ["next_state"] * (not flags["lost"])
    for name, label in zip(names, labels, strict=False):
        if label is ...:
            raise ValueError(f"{name} is missing")
    if flags["lost"] and labels[-1] is not ...:
        raise ValueError("next_state is given, but the outcome is lost; leave it out")
    known_labels: tuple[Any, ...] = tuple(label for label in labels if label is not ...)
    tell: Any = book.tell  # the number of labels depends on the book
    tell(*known_labels, **flags, **texts)
    return {"n_trials": len(book.trials), "n_obs": book.explorer.n_obs}


def _undo(book: LabBook, fields: Fields) -> Fields:
    """Undo trials."""
    reader = _Reader(fields)
    n = reader.take("n", int, 1)
    reader.finish()
    return {"undone": [label_values(trial, book) for trial in book.undo(n)], "n_trials": len(book.trials)}


def _give_up(book: LabBook, fields: Fields) -> Fields:
    """Give up pending trials."""
    reader = _Reader(fields)
    trial, client = reader.take("trial", int), reader.take("client", str)
    reader.finish()
    return {"given_up": [trial_values(trial) for trial in book.give_up(trial, client=client)]}


def _status(book: LabBook, fields: Fields) -> Fields:
    """Return the status, and with `enough` whether no more bits are missing."""
    book.catch_up()
    result = status(book)
    unknown = set(fields) - {"enough", "confidence"}
    if unknown:
        raise ValueError(f"unknown field {min(unknown)!r:.60}; there are enough, confidence")
    if "enough" in fields:
        bits, confidence = (_number(name, fields.get(name, 0.95)) for name in ("enough", "confidence"))
        is_enough = bool(book.explorer.knows_enough(bits, confidence))
        result["enough"] = {"bits": bits, "confidence": confidence, "is_enough": is_enough}
    return result


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value!r:.60}; it must be a number") from None


def _history(book: LabBook, fields: Fields) -> Fields:
    """Return all trials."""
    book.catch_up()
    return {"trials": [label_values(trial, book) for trial in book.trials]}


def _pending(book: LabBook, fields: Fields) -> Fields:
    """Return the pending trials."""
    book.catch_up()
    return {"trials": [trial_values(trial) for trial in book.pending]}


ENDPOINTS: dict[tuple[str, str], Callable[[LabBook, Fields], Fields]] = {
    ("POST", "/ask"): _ask,
    ("POST", "/ask-many"): _ask_many,
    ("POST", "/tell"): _tell,
    ("POST", "/undo"): _undo,
    ("POST", "/give-up"): _give_up,
    ("GET", "/status"): _status,
    ("GET", "/history"): _history,
    ("GET", "/pending"): _pending,
}
"""Methods and paths of the service."""

"""Models of choices in TOML files, for the commands `berlyne fit` and `berlyne compare`.

A file has the names of columns in `[columns]`, options such as `weights` and `pool`, and a model: a list `terms` of
"bias", "repeat", "habit" and "lapse", and tables `[[drive]]`. A file for a comparison has several models in
`[models.NAME]`. A drive has a `strategy`, the concentration `c` and discount `d` of its Chinese-restaurant prior, and
parameters of the strategy. A setting is a number, a list of numbers, or `{ low = 0.03, high = 10, n = 6 }`.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from berlyne.behaviour.comparison import CrossValidation, cv
from berlyne.behaviour.data import Data, pandas, read
from berlyne.behaviour.settings import Grid, crp, grid
from berlyne.behaviour.terms import Model, bias, habit, lapse, model, repeat

TERMS = {"bias": bias, "repeat": repeat, "habit": habit, "lapse": lapse}
OF_MODEL = ("terms", "drive")
KINDS: dict[str, type] = {
    "columns": dict,
    "weights": str,
    "pool": str,
    "by": list,
    "models": dict,
    "terms": list,
    "drive": list,
}
OPTIONS = tuple(KINDS)
REQUIRED: dict[type, str] = {str: "a text", list: "a list", dict: "a table"}


@dataclass(frozen=True)
class ModelFile:
    """Contents of a TOML file.

    Attributes
    ----------
    columns : dict
        Names of columns, for `bb.read`.
    models : dict of str to Model
        Models by name; a file with one model calls it "model".
    options : dict
        The options `weights`, `pool` and `by`, if the file has them.
    """

    columns: dict[str, Any]
    models: dict[str, Model]
    options: dict[str, Any]

    def read(self, path: Path) -> Data:
        """Read a CSV file with these columns."""
        columns = dict(self.columns)
        ended = columns.get("ended")
        try:
            frame = pandas().read_csv(path)
        except (pandas().errors.ParserError, pandas().errors.EmptyDataError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} is not a CSV table: {str(error).splitlines()[0]}") from None
        if ended is not None and ended not in frame:
            raise ValueError(f"{path} has no column {ended!r}, which [columns] names as ended")
        return read(frame, **columns)


def load_model_file(path: Path) -> ModelFile:
    """Read a TOML file.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    ValueError
        If the file is no TOML, or describes no model.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not valid TOML: {error}") from None
    for name, value in content.items():
        if name not in OPTIONS:
            raise ValueError(f"{path} has {name!r}; it may have {', '.join(OPTIONS)}")
        _check_kind(str(path), name, value)
    if "models" in content:
        models = {name: _model(f"{path}, [models.{name}]", table) for name, table in content["models"].items()}
    else:
        models = {"model": _model(str(path), {name: content[name] for name in OF_MODEL if name in content})}
    options: dict[str, Any] = {name: content[name] for name in ("weights", "pool") if name in content}
    if "by" in content:
        options["by"] = [_criterion(text) for text in content["by"]]
    return ModelFile(content.get("columns", {}), models, options)


def _check_kind(place: str, name: str, value: Any, kind: type | None = None) -> None:
    """Raise a `ValueError` unless a value of the file is a text, a list or a table, as its name requires."""
    kind = KINDS[name] if kind is None else kind
    if not isinstance(value, kind) or (name == "models" and not value):
        required = REQUIRED[kind] + (" of models" if name == "models" else "")
        raise ValueError(f"{place} has {name} = {value!r}; it must be {required}")


def _model(place: str, table: dict[str, Any]) -> Model:
    """Return the sum of the terms and drives of a table."""
    _check_kind(place, "the model", table, dict)
    unknown = [name for name in table if name not in OF_MODEL]
    if unknown or not table:
        raise ValueError(f"{place} has {', '.join(unknown) or 'no model'}; a model has terms, [[drive]] or both")
    for name, value in table.items():
        _check_kind(place, name, value)
    total = Model(())
    for drive in table.get("drive", []):
        _check_kind(place, "a drive", drive, dict)
        total = total + _drive(place, drive)
    for name in table.get("terms", []):
        if name not in TERMS:
            raise ValueError(f"{place} has the term {name!r}; it must be one of {', '.join(TERMS)}")
        total = total + TERMS[name]()
    return total


def _drive(place: str, table: dict[str, Any]) -> Model:
    """Return a drive with a Chinese-restaurant prior."""
    if "strategy" not in table:
        raise ValueError(f"{place} has a drive without a strategy, such as strategy = 'PIG(VI)'")
    settings = {name: _setting(place, name, value) for name, value in table.items() if name != "strategy"}
    prior = crp(c=settings.pop("c", 1.0), d=settings.pop("d", 0.0))
    return model(table["strategy"], prior, **settings)


def _setting(place: str, name: str, value: Any) -> Any:
    """Return a grid for a table, and any other setting as it is."""
    if not isinstance(value, dict):
        return value
    if set(value) != {"low", "high", "n"}:
        raise ValueError(f"{place} has {name} = {value}; a grid has low, high and n")
    values: Grid = grid(value["low"], value["high"], value["n"])
    return values


def _criterion(text: str) -> str | CrossValidation:
    """Return a criterion for "bic", "laplace", "cv(people, 3)" or "cv(people, 3, goal)", stratified by goal."""
    _check_kind("by", "a criterion", text, str)
    match = re.fullmatch(r"cv\(\s*(\w+)\s*,\s*(\d+)\s*(?:,\s*([^,()]+?)\s*)?\)", text)
    return text if match is None else cv(match[1], int(match[2]), stratify=match[3])

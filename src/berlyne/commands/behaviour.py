"""`berlyne fit` and `berlyne compare`: fit models of choices to a table, and compare them."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from berlyne.commands.help import Command
from berlyne.serialization import atomic_write

FRAME = click.argument("frame", type=click.Path(exists=True, dir_okay=False, path_type=Path))
MODEL = click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))

QUIET = click.option("--quiet", is_flag=True, help="Do not show progress.")


def _print(text: str) -> None:
    Console().print(text, highlight=False, soft_wrap=True, markup=False)


@click.command(cls=Command, example="berlyne fit choices.csv model.toml -o fit.nc")
@FRAME
@MODEL
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="NetCDF file for the results.")
@QUIET
def fit(frame: Path, model: Path, output: Path | None, quiet: bool) -> None:
    """Fit the model of the TOML file MODEL to the choices in the CSV file FRAME."""
    from berlyne.behaviour.fitting import fit as fit_model
    from berlyne.behaviour.model_file import load_model_file

    described = load_model_file(model)
    if len(described.models) != 1:
        raise ValueError(f"{model} has {len(described.models)} models; fit takes one, compare takes several")
    options = {name: value for name, value in described.options.items() if name != "by"}
    data = described.read(frame)
    _print(str(data.check()))
    result = fit_model(data, *described.models.values(), **options, progress=False if quiet else None)
    _print(f"\n{result!r}\n{result.group.to_string()}")
    if result.best_settings:
        _print("settings: " + ", ".join(f"{name} = {value:g}" for name, value in result.best_settings.items()))
    if output is not None:
        atomic_write(output, result.to_netcdf(), overwrite=True)
        _print(f"Wrote {output}")


@click.command(cls=Command, example="berlyne compare choices.csv models.toml -o scores.csv")
@FRAME
@MODEL
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="CSV file for scores of people.")
@QUIET
def compare(frame: Path, model: Path, output: Path | None, quiet: bool) -> None:
    """Compare the models of the TOML file MODEL by how well they explain the choices in the CSV file FRAME."""
    from berlyne.behaviour.comparison import compare as compare_models
    from berlyne.behaviour.model_file import load_model_file

    described = load_model_file(model)
    options = {name: value for name, value in described.options.items() if name != "pool"}
    result = compare_models(described.read(frame), described.models, **options, progress=False if quiet else None)
    _print(result.table.round(1).to_string())
    for criterion in result.criteria:
        _print(f"\n{criterion}\n{result.bms(by=criterion)}")
    if output is not None:
        atomic_write(output, result.pointwise.to_csv().encode(), overwrite=True)
        _print(f"Wrote {output}")

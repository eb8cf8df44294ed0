"""The commands and their options; errors become one line and a status."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from .. import __version__
from .console import tell
from .models import FAMILIES, TASKS, Choice, UsageError
from .reading import Reading

_EXAMPLE = """\b
Example:
  grls fit meuse.csv --target zinc --features "sqrt(dist)" \\
      --kernel matern --on x,y --drop om --drop landuse --out zinc.grls
"""
_FORMATS = ("csv", "parquet", "libsvm")


class _Failure(click.ClickException):
    """What went wrong, on one line."""

    def __init__(self, command: str, message: str) -> None:
        super().__init__(message)
        self.command = command

    def show(self, file: Any = None) -> None:
        """Print it as compilers do."""
        click.echo(f"grls {self.command}: error: {self.message}", err=True, file=file)


class _Command(click.Command):
    """A command with ``--debug``, whose errors are one line without it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(
            click.Option(["--debug"], is_flag=True, help="Show where an error arose.", expose_value=False)
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["grls.debug"] = "--debug" in args
        ctx.meta["grls.arguments"] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        name = str(ctx.info_name)
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            click.echo(f"\ngrls {name}: stopped", err=True)
            ctx.exit(130)
        except UsageError as error:
            raise click.UsageError(str(error), ctx) from error
        except Exception as error:
            if ctx.meta["grls.debug"]:
                traceback.print_exc()
            raise _Failure(name, _message(error)) from error


def _message(error: Exception) -> str:
    """Return what an error says, on one line."""
    said = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"not enough memory: {said}"
    expected = isinstance(
        error, ValueError | TypeError | ImportError | OSError | RuntimeError | ArithmeticError
    )
    return said if expected else f"{type(error).__name__}: {said} (a bug of grls? --debug shows where)"


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="grls", message="%(prog)s %(version)s")
@click.pass_context
def grls(ctx: click.Context) -> None:
    """Kernel machines with predefined features that are not penalised."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
        ctx.exit(2)


def _options(*options: Any) -> Callable[[Any], Any]:
    """Return a decorator that adds options in the order given."""

    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


_PATH = click.Path(path_type=Path)
_READING = (
    click.option("--format", "format_", type=click.Choice(_FORMATS), help="Of the data; else by its ending."),
    click.option("--sep", help="Between the fields of a CSV file; else , ; or tab, as its first line has."),
    click.option("--encoding", default="utf-8", show_default=True, help="Of a CSV file."),
)
_MODEL = (
    click.option("--target", required=True, metavar="COLUMN", help="What is predicted (LIBSVM: target)."),
    click.option(
        "--features", metavar="FORMULA", help='What is known and not penalised: "sqrt(dist) + soil".'
    ),
    click.option("--kernel", metavar="KERNEL", help="A name, or \"2 * Matern(nu=2.5).on('x') + Linear()\"."),
    click.option("--on", multiple=True, metavar="COLUMN", help="Columns that the kernel reads; else all."),
    click.option("--task", type=click.Choice(TASKS), default="auto", show_default=True),
    click.option("--model", "family", type=click.Choice(FAMILIES), default="auto", show_default=True),
    click.option("--loss", help='Of regression: "huber", "quantile", "poisson", …; else least squares.'),
    click.option("--regularization", metavar="γ", help='A number, "loo", "gcv" or "reml".'),
    click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Any other parameter."),
    click.option("--inputs", multiple=True, metavar="COLUMN", help="Columns to use; else all."),
    click.option("--categorical", multiple=True, metavar="COLUMN", help="Numbers that stand for categories."),
    click.option("--drop", multiple=True, metavar="COLUMN", help="Columns to leave out."),
    click.option("--missing", type=click.Choice(("refuse", "drop")), default="refuse", show_default=True),
)
_QUIET = click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors and warnings.")
_TRUST = click.option(
    "--trust", multiple=True, metavar="NAME", help="Types of your own that the model file may hold."
)


def _split(several: Sequence[str]) -> tuple[str, ...]:
    """Return names that were given one by one, or with commas between them."""
    return tuple(name.strip() for one in several for name in one.split(",") if name.strip())


def _choice(options: dict[str, Any]) -> Choice:
    for name in ("on", "inputs", "categorical", "drop"):
        options[name] = _split(options[name])
    return Choice(**options)


@grls.command(cls=_Command, epilog=_EXAMPLE)
@click.argument("data", type=_PATH)
@_options(*_MODEL)
@click.option(
    "--out", type=_PATH, required=True, metavar="FILE", help="The model; by habit it ends in .grls."
)
@click.option("--report", type=_PATH, metavar="FILE", help="A page of HTML with tables and pictures.")
@click.option("--summary", is_flag=True, help="Print the whole summary of the fit.")
@_options(*_READING)
@_QUIET
def fit(
    data: Path,
    out: Path,
    report: Path | None,
    summary: bool,
    format_: str | None,
    sep: str | None,
    encoding: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Fit a model to DATA (.csv, .tsv, .parquet, .svm) and write it to a file.

    Text columns are categories and become indicators; `grls predict` takes the same columns, in any order.
    """
    from . import commands

    reading = Reading(format_, sep, encoding)
    commands.fit(data, _choice(options), reading, out, report, summary=summary, quiet=quiet)


@grls.command(cls=_Command)
@click.argument("model", type=_PATH)
@click.argument("data", type=_PATH)
@click.option(
    "--out", type=_PATH, metavar="FILE", help=".csv, .tsv (.gz, .bz2, .xz) or .parquet; else printed."
)
@click.option("--std", is_flag=True, help="Standard deviations beside predictions of numbers.")
@click.option("--proba", is_flag=True, help="Probabilities of all classes beside the predicted one.")
@click.option("--keep", multiple=True, metavar="COLUMN", help="Columns of DATA to write too.")
@click.option("--missing", type=click.Choice(("refuse", "blank")), default="refuse", show_default=True)
@click.option("--unknown", type=click.Choice(("refuse", "ignore")), default="refuse", show_default=True)
@_TRUST
@_options(*_READING)
@_QUIET
def predict(
    model: Path,
    data: Path,
    format_: str | None,
    sep: str | None,
    encoding: str,
    trust: tuple[str, ...],
    keep: tuple[str, ...],
    **options: Any,
) -> None:
    """Predict the rows of DATA by a MODEL that `grls fit` wrote.

    If DATA has the target too, how well it is predicted is told on the error output.
    """
    from . import predicting

    wanted = predicting.Wanted(keep=_split(keep), **options)
    predicting.predict(model, data, Reading(format_, sep, encoding), wanted, trust)


@grls.command(cls=_Command)
@click.argument("data", type=_PATH)
@_options(*_MODEL)
@click.option("--folds", type=click.IntRange(min=2), default=5, show_default=True)
@click.option("--groups", metavar="COLUMN", help="Rows of a group stay together; it is not an input then.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Of the folds.")
@_options(*_READING)
@_QUIET
def cv(
    data: Path,
    folds: int,
    groups: str | None,
    seed: int,
    format_: str | None,
    sep: str | None,
    encoding: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Tell by cross-validation how well a model predicts rows of DATA that it has not seen."""
    from . import validating

    how = validating.Folds(folds, groups, seed)
    validating.cross_validate(data, _choice(options), Reading(format_, sep, encoding), how, quiet=quiet)


@grls.command(cls=_Command)
@click.argument("model", type=_PATH)
@click.option("--out", type=_PATH, required=True, metavar="FILE", help="The picture: .png, .pdf or .svg.")
@click.option("--data", type=_PATH, metavar="FILE", help="Rows to draw the model at; else those it keeps.")
@_TRUST
@_options(*_READING)
@_QUIET
def plot(
    model: Path,
    out: Path,
    data: Path | None,
    format_: str | None,
    sep: str | None,
    encoding: str,
    trust: tuple[str, ...],
    quiet: bool,
) -> None:
    """Draw all that there is to see of a MODEL that `grls fit` wrote."""
    from . import commands

    commands.plot(model, data, Reading(format_, sep, encoding), out, trust, quiet=quiet)


@grls.command(cls=_Command)
@click.argument("model", type=_PATH, required=False)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.option("--summary", is_flag=True, help="The summary of the fit too.")
@_TRUST
def info(model: Path | None, as_json: bool, summary: bool, trust: tuple[str, ...]) -> None:
    """Print what is in a MODEL; without one versions, linear algebra and threads, for bug reports."""
    from . import about, commands

    facts = list(about.facts()) if model is None else commands.facts_of_file(model, trust)
    if as_json:
        several: dict[str, Any] = {}
        for name, value in facts:
            several.setdefault(name, []).append(value)
        click.echo(json.dumps({name: v[0] if len(v) == 1 else v for name, v in several.items()}, indent=2))
        return
    tell(facts)
    if summary and model is not None:
        click.echo(f"\n{commands.summary_of_file(model, trust)}")


@grls.command(cls=_Command)
@click.option("--output", type=_PATH, metavar="FILE", help="The picture: .png, .pdf or .svg.")
@click.option("--seed", default="0", metavar="N", help="Of the random draws (default: 0).")
@click.option("--quick", is_flag=True, help="Fewer draws and grid points: a few seconds.")
@click.pass_context
def demo(ctx: click.Context, output: Path | None, seed: str, quick: bool) -> None:
    """Show in tables and a picture what predefined features do."""
    from .. import demo as demonstration  # only here: it takes scikit-learn's data sets and models along

    try:
        status = demonstration.run(output, seed=_seed(seed), quick=quick)
    except demonstration.OutputError as error:
        click.echo(f"grls demo: error: {error}", err=True)
        status = 2
    ctx.exit(status)


def _seed(text: str) -> int:
    """Read a seed as scikit-learn takes it."""
    try:
        seed = int(text)
    except ValueError:
        seed = -1
    if not 0 <= seed < 2**31:
        raise UsageError(f"--seed must be a whole number from 0 to 2**31 - 1, got {text!r}")
    return seed


def run(argv: Sequence[str] | None) -> int:
    """Run a command and return its status."""
    try:
        grls.main(args=None if argv is None else list(argv), prog_name="grls")
    except SystemExit as end:
        return int(end.code or 0)

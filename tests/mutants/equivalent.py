"""Faults that compute the same, or cost only time: looked at one by one, with the reason."""

# (file, the line as it stands, old -> new): why no test can or should notice
EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "python/grls/_selection/estimation_error.py",
        'problem, targets, "reml", gammas, lambda _: np.zeros(1), per_output=False, counts=counts',
        "1 -> 2",
    ): "the likelihood asks for no error of predictions",
    (
        "python/grls/cli/app.py",
        'click.option("--missing", type=click.Choice(("refuse", "drop")), default="refuse", '
        "show_default=True),",
        "True -> False",
    ): "words of --help",
    (
        "python/grls/nystrom_losses.py",
        "return 1.0 if self.dispersion is None else float(self.dispersion)",
        "1.0 -> 3.0",
    ): "families without a dispersion do not read it, and the one with it is refused without a number",
}


def reason(record):
    """Why a survivor of the trial is no gap in the tests, or None."""
    return EQUIVALENT.get((record["file"], record["text"], f"{record['old']} -> {record['new']}"))

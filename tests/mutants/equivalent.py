"""Faults that compute the same, or cost only time: looked at one by one, with the reason."""

# (file, the line as it stands, old -> new): why no test can or should notice
EQUIVALENT: dict[tuple[str, str, str], str] = {}


def reason(record):
    """Why a survivor of the trial is no gap in the tests, or None."""
    return EQUIVALENT.get((record["file"], record["text"], f"{record['old']} -> {record['new']}"))

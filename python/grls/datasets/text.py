"""Text: postings and web pages, stripped of what is not text."""

from __future__ import annotations

import html
import re
import tarfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _sources
from ._formats import Documents
from ._loader import Options, Source, check_subset, loader

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["load_20newsgroups", "load_sectors", "load_webkb", "strip_headers", "strip_page"]
__dir__ = __all__.copy

_BLANK_LINE = re.compile(r"\r?\n[ \t]*\r?\n")
_HEADER_LINES = re.compile(r"(?:[A-Za-z][\w.-]*:.*(?:\n|$)|[ \t]+\S.*(?:\n|$)|HTTP/.*(?:\n|$))*")
_SCRIPT = re.compile(r"<(script|style)\b.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*>")  # <!WA0> and other marks of the crawler too


def strip_headers(text: str) -> str:
    """Return a posting or a page without its header, which ends at the first blank line.

    Parameters
    ----------
    text : str
        As it was sent. Where no line is blank, the lines that look like those of a header are taken off.

    Returns
    -------
    str
        The body.
    """
    blank = _BLANK_LINE.search(text)
    if blank:
        return text[blank.end() :]
    header = _HEADER_LINES.match(text)
    return text[header.end() :] if header else text


def strip_page(text: str) -> str:
    """Return the text of a web page: without the server's header, scripts, tags, and marks of the crawler.

    Parameters
    ----------
    text : str
        As the server sent it.

    Returns
    -------
    str
        The text, with entities such as ``&amp;`` replaced by their characters.
    """
    return html.unescape(_TAG.sub(" ", _SCRIPT.sub(" ", strip_headers(text))))


@loader(Options)
def load_20newsgroups(
    *,
    version: str = "bydate",
    subset: str = "all",
    groups: Sequence[str] | None = None,
    raw: bool = False,
    **options: Unpack[Options],
) -> Any:
    """Return the postings of 20 newsgroups.

    Parameters
    ----------
    version : {"bydate", "original"}, default="bydate"
        18,846 postings without duplicates, of which the earlier 11,314 are for training; or the 19,997 of
        the papers, with duplicates and no split.
    subset : {"all", "train", "test"}, default="all"
        Which part of ``version="bydate"``.
    groups : sequence of str, default=None
        Names of groups or the beginnings of such names, for instance ``["rec"]``; None takes all.
    raw : bool, default=False
        Whether to keep the headers, which may name the group.

    Returns
    -------
    Bunch
        ``data``, a list of texts; ``target``, the group's number; ``target_names``; ``ids``.
    """
    if version not in ("bydate", "original"):
        raise ValueError(f"version must be 'bydate' or 'original'; got {version!r}")
    dataset = _sources.NEWSGROUPS_BYDATE if version == "bydate" else _sources.NEWSGROUPS_ORIGINAL
    if version == "original" and subset != "all":
        raise ValueError("version='original' has no split: it needs subset='all'")
    check_subset(subset)
    source = Source(dataset, options)
    rows = source.documents(_newsgroups)
    rows = [row for row in rows if subset in ("all", row.get("split"))]
    if groups is not None:
        rows = _in_groups(rows, groups)
    return _documents(source, rows, None if raw else strip_headers, ids="id")


def _in_groups(rows: Documents, groups: Sequence[str]) -> Documents:
    if isinstance(groups, str):
        raise TypeError(f"groups must be a list of names, got the string {groups!r}")
    known = sorted({row["label"] for row in rows})
    chosen = set()
    for group in groups:
        matching = [name for name in known if name == group or name.startswith(f"{group.rstrip('.*')}.")]
        if not matching:
            raise ValueError(f"there is no group {group!r} among {', '.join(known)}")
        chosen.update(matching)
    return [row for row in rows if row["label"] in chosen]


def _documents(source: Source, rows: Documents, strip: Callable[[str], str] | None, **attributes: str) -> Any:
    """Return texts and the numbers of their classes; `attributes`: the row's entry behind each."""
    names, target = np.unique([row["label"] for row in rows], return_inverse=True)
    return source.sample(
        [row["text"] if strip is None else strip(row["text"]) for row in rows],
        target,
        f"{len(rows)} documents, {len(names)} classes",
        target_names=names.tolist(),
        **{name: [row[entry] for row in rows] for name, entry in attributes.items()},
    )


@loader(Options)
def load_webkb(*, raw: bool = False, **options: Unpack[Options]) -> Any:
    """Return the pages of "4 universities": courses, departments, faculty, projects, staff, students, others.

    Parameters
    ----------
    raw : bool, default=False
        Whether to keep the server's header and the tags.

    Returns
    -------
    Bunch
        ``data``, a list of 8,281 texts (8,282 from the original archive); ``target``, the class's number;
        ``target_names``; ``universities``, which the makers of the data want to be held out one by one;
        ``urls``.
    """
    source = Source(_sources.WEBKB, options)
    strip = None if raw else strip_page
    return _documents(source, source.documents(_webkb), strip, universities="university", urls="url")


@loader(Options)
def load_sectors(*, raw: bool = False, **options: Unpack[Options]) -> Any:
    """Return the pages of companies in "7 sectors" of the economy.

    Parameters
    ----------
    raw : bool, default=False
        Whether to keep the server's header and the tags.

    Returns
    -------
    Bunch
        ``data``, a list of 4,571 texts (4,573 from the original archive); ``target``, the sector's number;
        ``target_names``; ``industries``, the finer classes; ``urls``.
    """
    source = Source(_sources.SECTORS, options)
    strip = None if raw else strip_page
    return _documents(source, source.documents(_sectors), strip, industries="sub", urls="url")


def _members(files: dict[str, Path]) -> Iterator[tuple[list[str], str]]:
    """Yield the path of each file in an archive, part by part, and its text byte by byte."""
    (path,) = files.values()
    with tarfile.open(path) as archive:
        for member in archive:
            parts = [part for part in member.name.split("/") if part not in ("", ".")]
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None and len(parts) >= 3:
                yield parts, file.read().decode("latin-1")


def _newsgroups(files: dict[str, Path]) -> Documents:
    rows: Documents = []
    for (*_, folder, label, number), text in _members(files):
        row: dict[str, Any] = {"id": number, "label": label}
        if folder.endswith(("-train", "-test")):
            row["split"] = folder.rpartition("-")[2]
        rows.append({**row, "text": text})
    labels = sorted({row["label"] for row in rows})
    for row in rows:
        row["y"] = labels.index(row["label"])
    return sorted(rows, key=lambda row: (row.get("split") == "test", row["label"], int(row["id"])))


def _webkb(files: dict[str, Path]) -> Documents:
    rows = [
        {"label": label, "university": university, "file": name, "url": name.replace("^", "/"), "text": text}
        for (*_, label, university, name), text in _members(files)
    ]
    return sorted(rows, key=lambda row: (row["label"], row["university"], row["file"]))


def _sectors(files: dict[str, Path]) -> Documents:
    rows: Documents = []
    for parts, text in _members(files):  # …/SECTOR.sector/[FINER.sector/]INDUSTRY.industry/PAGE
        outermost = next(i for i, part in enumerate(parts) if part.endswith(".sector"))
        rows.append(
            {
                "label": parts[outermost].removesuffix(".sector"),
                "sub": "/".join(parts[outermost + 1 : -1]),
                "file": parts[-1],
                "url": parts[-1].replace("^", "/").replace("http_", "http:", 1),
                "text": text,
            }
        )
    return sorted(rows, key=lambda row: (row["label"], row["sub"], row["file"]))

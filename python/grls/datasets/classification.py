"""Two classes: problems of the LIBSVM collection."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from . import _sources
from ._formats import Table, read_only
from ._loader import Options, Source, check_subset, loader

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["load_a9a", "load_binary", "load_cod_rna"]
__dir__ = __all__.copy


@loader(Options)
def load_a9a(*, subset: str = "all", **options: Unpack[Options]) -> Any:
    """Return a9a: income above or below 50,000 $ by 123 indicators, about 14 of them one in each row.

    Parameters
    ----------
    subset : {"all", "train", "test"}, default="all"
        32,561 training rows, then 16,281 test rows.

    Returns
    -------
    Bunch
        ``data``, a CSR matrix with 123 columns, and ``target``, -1 or 1.
    """
    check_subset(subset)
    parts = {"train": _sources.A9A_TRAIN, "test": _sources.A9A_TEST}
    sources = [Source(part, options) for name, part in parts.items() if subset in (name, "all")]
    blocks, targets = [], []
    for source in sources:
        text = "\n".join(source.table(_lines)["line"]).encode()
        X, y = load_svmlight_file(io.BytesIO(text), n_features=123)
        blocks.append(X)
        targets.append(y.astype(np.int8))
    return sources[0].sample(sparse.vstack(blocks, format="csr"), np.concatenate(targets))


def _lines(files: dict[str, Path]) -> Table:
    return {"line": np.array(read_only(files).splitlines(), dtype=object)}


@loader(Options)
def load_cod_rna(**options: Unpack[Options]) -> Any:
    """Return cod-RNA: non-coding RNA or not, by 8 scaled columns.

    Returns
    -------
    Bunch
        ``data`` (59535, 8) as float32 and ``target``, -1 or 1.
    """
    source = Source(_sources.COD_RNA, options)
    table = source.table()
    return source.sample(table["X"], table["y"])


@loader(Options)
def load_binary(name: str, **options: Unpack[Options]) -> Any:
    """Return one of nine small two-class problems.

    Parameters
    ----------
    name : str
        ``"australian"``, ``"diabetes_scaled"``, ``"fourclass_scaled"``, ``"german_numer_scaled"``,
        ``"heart_scale"``, ``"liver_disorder_scaled"``, ``"sonar_scale"``, ``"splice_scaled"``,
        ``"svmguide3"``; the first letters are enough.

    Returns
    -------
    Bunch
        ``data`` and ``target``, -1 or 1.
    """
    source = Source(_sources.SMALL_BINARY, options)
    table = source.table()
    names = [key.removesuffix("_X") for key in table if key.endswith("_X")]
    matching = [known for known in names if known.startswith(name)]
    if len(matching) != 1:
        raise ValueError(f"name must be one of {', '.join(map(repr, names))}; got {name!r}")
    full = matching[0]
    data, target = table[f"{full}_X"], table[f"{full}_y"]
    return source.sample(data, target, f"{full}, {len(data)} rows")

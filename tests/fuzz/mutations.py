"""Values that no caller should give: one changed a little or a lot, of the same kind or of another."""

import copy

import numpy as np
from scipy import sparse

_FLOATS = [0.0, -0.0, -1.0, 1.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-308, 5e-324, 1e90, 1e-90, 1e16]
_INTEGERS = [0, -1, 1, 2, 7, 255, 2**31 - 1, 2**31, -(2**31), 2**32, 2**60, 2**62, 2**63 - 1, -(2**63), 2**64]
_TEXTS = [
    "",
    "nonsense",
    "qr",
    "first",
    "exact",
    "published",
    "double",
    "single",
    "mixed",
    "auto",
    "loo",
    "logo",
]
_OTHERS = [
    None,
    "text",
    3,
    2.5,
    [],
    (),
    {},
    [1.0, 2.0],
    object(),
    b"bytes",
    True,
    1j,
    np.float32(2),
    {"a": 1},
]


def pick(rng, values):
    """Return one of the values."""
    return values[int(rng.integers(len(values)))]


def _misaligned(array):
    raw = np.empty(array.nbytes + 1, dtype=np.uint8)[1:]
    out = raw.view(array.dtype).reshape(array.shape)
    out[...] = array
    return out


def _spotted(rng, array, value):
    out = np.array(array, dtype=np.float64 if array.dtype.kind != "f" else array.dtype)
    if out.size:
        with np.errstate(over="ignore"):
            out.flat[int(rng.integers(out.size))] = value
    return out


def array_of_another_shape(rng, array):
    """Return an array with rows or columns more or fewer, transposed, or of another number of dimensions."""
    shape = array.shape
    axis = int(rng.integers(max(array.ndim, 1)))
    ways = [
        lambda: array[:0],
        lambda: array[..., :0],
        lambda: array[:-1],
        lambda: array[..., :-1],
        lambda: np.concatenate([array, array[:1]]) if array.ndim else array,
        lambda: np.repeat(array, 2, axis=axis) if array.ndim else array,
        lambda: np.ascontiguousarray(array.T),
        lambda: array.reshape(-1),
        lambda: array[None],
        lambda: np.zeros(()),
        lambda: np.zeros((0, 0)),
        lambda: np.zeros((*shape, 2)),
        lambda: np.broadcast_to(np.float64(1.0), (3, 2**40)) if rng.random() < 0.1 else array[:1],
    ]
    return pick(rng, ways)()


def array_of_other_values(rng, array):
    """Return an array with values that are extreme, missing, equal or of another scale."""
    ways = [
        lambda: _spotted(rng, array, pick(rng, _FLOATS)),
        lambda: np.full_like(array, pick(rng, [0, 1, -1]), dtype=np.float64),
        lambda: array * pick(rng, [1e150, 1e-150, 1e300, -1.0, 1e8]),
        lambda: array + pick(rng, [1e8, 1e16, -1e12]),
        lambda: np.repeat(array[:1], len(array), axis=0) if array.ndim and len(array) else array,
        lambda: rng.permutation(array) if array.ndim else array,
    ]
    with np.errstate(all="ignore"):
        return np.asarray(pick(rng, ways)(), dtype=array.dtype if array.dtype.kind == "f" else None)


def array_in_another_place(rng, array):
    """Return the same values in another order in memory, at an odd address, or of another type."""
    ways = [
        lambda: np.asfortranarray(array),
        lambda: np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array,
        lambda: array[::-1],
        lambda: array[..., ::-1],
        lambda: _misaligned(np.ascontiguousarray(array)),
        lambda: array.astype(np.float32),
        lambda: array.astype(np.int64),
        lambda: array.astype(np.complex128),
        lambda: array.astype(object),
        lambda: array.astype(">f8"),
        lambda: array.astype(np.float16),
        lambda: array.astype(bool),
        lambda: array.tolist(),
        lambda: np.asarray(array, dtype=str),
    ]
    with np.errstate(all="ignore"):
        return pick(rng, ways)()


def array(rng, value):
    """Return an array that is not as it was."""
    try:
        return pick(
            rng,
            [array_of_another_shape, array_of_other_values, array_of_other_values, array_in_another_place],
        )(rng, value)
    except (ValueError, IndexError, TypeError, np.exceptions.ComplexWarning):
        return np.zeros((0, 1))


def indices(rng, value):
    """Return an array or list of indices with some that lead astray."""
    out = np.array(value, dtype=np.int64)
    if out.size and rng.random() < 0.8:
        out.flat[int(rng.integers(out.size))] = pick(rng, [-1, out.size, 10**6, 2**31, 2**62, -(2**63), 0])
    else:
        out = pick(rng, [out[:-1], out[:0], np.append(out, 0), out[::-1], out[:, None]])
    return out.tolist() if isinstance(value, list) else out


def sparse_rows(rng, value):
    """Return sparse rows (values, columns, starts, number of columns) that are malformed, or merely odd."""
    parts = list(value)
    which = int(rng.integers(5))
    if which == 0:
        parts[0] = array(rng, parts[0])
    elif which in (1, 2):
        parts[which] = indices(rng, parts[which])
    elif which == 3:
        parts[3] = integer(rng, parts[3])
    else:
        return pick(rng, [tuple(parts[:3]), (*parts, 1), parts, tuple(map(np.asarray, parts))])
    return tuple(parts)


def sparse_matrix(rng, value):
    """Return a SciPy matrix whose arrays were changed behind its back."""
    out = copy.deepcopy(value)
    name = pick(rng, ["data", "indices", "indptr"])
    part = getattr(out, name)
    setattr(out, name, array(rng, part) if name == "data" else indices(rng, part).astype(part.dtype))
    return out


def integer(rng, value):
    """Return a whole number that is too large, too small or near."""
    return pick(rng, [*_INTEGERS, value + 1, value - 1, 2 * value, float(value), None, "3"])


def any_value(rng, value):
    """Return something in place of a value of any kind."""
    if rng.random() < 0.08:
        return pick(rng, _OTHERS)
    if sparse.issparse(value):
        return sparse_matrix(rng, value)
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "iu" and rng.random() < 0.5:
            return indices(rng, value).astype(value.dtype, copy=False)
        if value.dtype.kind in "fiub":
            return array(rng, value)
        if value.ndim == 0:
            return pick(rng, [value[None], value.item()])
        return pick(rng, [value[:0], value[:-1], np.append(value, value[:1]) if value.ndim == 1 else value])
    if isinstance(value, bool | np.bool_):
        return pick(rng, [not value, None, 2])
    if isinstance(value, int | np.integer):
        return integer(rng, int(value))
    if isinstance(value, float | np.floating):
        return pick(rng, [*_FLOATS, -value, 2 * value, None])
    if isinstance(value, str):
        return pick(rng, _TEXTS)
    if isinstance(value, list | tuple):
        kind = type(value) if type(value) in (list, tuple) else tuple
        items = list(value)
        if items and rng.random() < 0.6:
            at = int(rng.integers(len(items)))
            items[at] = any_value(rng, items[at])
            return kind(items)
        return kind(pick(rng, [items[:-1], items + items[:1], [], items[::-1]]))
    if isinstance(value, dict):
        out = dict(value)
        if out:
            key = pick(rng, list(out))
            if rng.random() < 0.5:
                del out[key]
            else:
                out[key] = any_value(rng, out[key])
        return out
    return pick(rng, _OTHERS)

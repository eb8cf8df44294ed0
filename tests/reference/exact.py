"""Models of a few samples in decimal arithmetic of as many digits as it takes: no rounding to speak of."""

from decimal import Context, Decimal, localcontext

DIGITS = 120  # weights 1e±12 and kernels that hardly tell samples apart leave half of them

_CONTEXT = Context(prec=DIGITS, Emax=10**9, Emin=-(10**9), traps=[])


def decimals(values):
    """Return nested lists of the exact values of floats."""
    return [decimals(value) for value in values] if hasattr(values, "__len__") else Decimal(float(values))


def squared_distance(x, z):
    """Return |x - z|²."""
    return sum(((a - b) * (a - b) for a, b in zip(x, z, strict=True)), Decimal(0))


def gaussian(x, z, sigma):
    """Return exp(-|x - z|² / 2σ²)."""
    return (-squared_distance(x, z) / (2 * sigma * sigma)).exp()


def laplace(x, z, sigma):
    """Return exp(-|x - z| / σ)."""
    return (-squared_distance(x, z).sqrt() / sigma).exp()


def linear(x, z, sigma):
    """Return <x, z>."""
    return sum((a * b for a, b in zip(x, z, strict=True)), Decimal(0))


KERNELS = {"gaussian": gaussian, "laplace": laplace, "linear": linear}


def solve(A, b):
    """Return the solution of Ax = b by elimination with row pivots; None where A is singular."""
    n = len(A)
    rows = [[*A[i], b[i]] for i in range(n)]
    for column in range(n):
        pivot = max(range(column, n), key=lambda i: abs(rows[i][column]))
        if rows[pivot][column] == 0:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        top = rows[column]
        for i in range(column + 1, n):
            factor = rows[i][column] / top[column]
            if factor != 0:
                rows[i] = [a - factor * t for a, t in zip(rows[i], top, strict=True)]
    x = [Decimal(0)] * n
    for i in reversed(range(n)):
        rest = sum((rows[i][j] * x[j] for j in range(i + 1, n)), Decimal(0))
        x[i] = (rows[i][n] - rest) / rows[i][i]
    return x


def _grls_system(k, sigma, X, T, w, gamma):
    """Return the matrix [K + γ Σw W⁻¹, T; Tᵀ, 0]."""
    m, n_free = len(X), len(T[0])
    shift = Decimal(float(gamma)) * sum(w, Decimal(0))
    A = [[Decimal(0)] * (m + n_free) for _ in range(m + n_free)]
    for i in range(m):
        for j in range(m):
            A[i][j] = k(X[i], X[j], sigma)
        A[i][i] += shift / w[i]
        for p in range(n_free):
            A[i][m + p] = A[m + p][i] = T[i][p]
    return A


def grls_standard_deviations(kernel, sigma, X, T, weights, gamma, X_new, T_new):
    """Return the standard deviations of f at new points, in units of the kernel's.

    Arguments are those of `grls_predictions`, and k(x, x) = 1:
    √(1 − bᵀA⁻¹b), A the matrix of the fit and b = [k(x, X); φ(x)].
    """
    with localcontext(_CONTEXT):
        k, sigma = KERNELS[kernel], Decimal(float(sigma))
        X, T, w, X_new, T_new = (decimals(v) for v in (X, T, weights, X_new, T_new))
        A, out = _grls_system(k, sigma, X, T, w, gamma), []
        for x, t in zip(X_new, T_new, strict=True):
            b = [*(k(x, other, sigma) for other in X), *t]
            found = solve(A, b)
            out.append((1 - sum((f * v for f, v in zip(found, b, strict=True)), Decimal(0))).sqrt())
        return out


def grls_predictions(kernel, sigma, X, T, y, weights, gamma, X_new, T_new):
    """Return f at new points, of the minimiser of Σ w (y - f)² / Σw + γ cᵀKc with free features T.

    All arguments are floats or arrays of them, taken as exact. (K + γ Σw W⁻¹) c + Tβ = y, Tᵀc = 0.
    """
    with localcontext(_CONTEXT):
        k, sigma = KERNELS[kernel], Decimal(float(sigma))
        X, T, y, w, X_new, T_new = (decimals(v) for v in (X, T, y, weights, X_new, T_new))
        m, n_free, A = len(X), len(T[0]), _grls_system(k, sigma, X, T, w, gamma)
        found = solve(A, [*y, *[Decimal(0)] * n_free])
        if found is None:
            return None
        return [
            sum((found[i] * k(x, X[i], sigma) for i in range(m)), Decimal(0))
            + sum((found[m + p] * t[p] for p in range(n_free)), Decimal(0))
            for x, t in zip(X_new, T_new, strict=True)
        ]


def nystrom_predictions(kernel, sigma, X, T, y, weights, gamma, centers, X_new, T_new):
    """Return f at new points, of the minimiser among f = Σ a_j k(z_j, ·) + Tβ whose T(z)ᵀa = 0.

    `centers` are the numbers of the rows of X that are centres z; else as `grls_predictions`. With the
    multipliers ν of T(z)ᵀa = 0 and s = γ Σw: (KᵀWK + s K(z, z)) a + KᵀWTβ + T(z) ν = KᵀWy and
    TᵀW(Ka + Tβ) = TᵀWy.
    """
    with localcontext(_CONTEXT):
        k, sigma = KERNELS[kernel], Decimal(float(sigma))
        X, T, y, w, X_new, T_new = (decimals(v) for v in (X, T, y, weights, X_new, T_new))
        rows, M, n_free = range(len(X)), len(centers), len(T[0])
        shift = Decimal(float(gamma)) * sum(w, Decimal(0))
        functions = [[k(x, X[j], sigma) for j in centers] + t for x, t in zip(X, T, strict=True)]
        order = M + 2 * n_free
        A, b = [[Decimal(0)] * order for _ in range(order)], [Decimal(0)] * order
        for p in range(M + n_free):
            for q in range(M + n_free):
                A[p][q] = sum((w[i] * functions[i][p] * functions[i][q] for i in rows), Decimal(0))
            b[p] = sum((w[i] * functions[i][p] * y[i] for i in rows), Decimal(0))
        for p, i in enumerate(centers):
            for q in range(M):
                A[p][q] += shift * functions[i][q]
            for q in range(n_free):
                A[p][M + n_free + q] = A[M + n_free + q][p] = T[i][q]
        found = solve(A, b)
        if found is None:
            return None
        return [
            sum((found[p] * k(x, X[j], sigma) for p, j in enumerate(centers)), Decimal(0))
            + sum((found[M + p] * t[p] for p in range(n_free)), Decimal(0))
            for x, t in zip(X_new, T_new, strict=True)
        ]

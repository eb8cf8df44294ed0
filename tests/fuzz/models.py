"""Models whose fitted attributes were changed: they answer with numbers or refuse, and never crash.

Every estimator times every attribute that a fit leaves, down to those of its kernel, features and sums,
times a change at random; then what a fitted model can be asked, two things at a time.
"""

import functools
import inspect
import pickle
import warnings

import grls
import numpy as np
from fuzz import mutations
from fuzz.mutations import pick
from grls import kernels as k
from grls.features import PLSA, Columns, EstimatorFeatures, GeodesicKNN, PolynomialTrend
from scipy import sparse
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(24, 3))
POSITIVE = np.abs(X)
SPARSE = sparse.csr_matrix(X * (_RNG.random(X.shape) < 0.6))
Y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.1 * _RNG.normal(size=24)
TWO = np.column_stack([Y, X[:, 2] ** 2])
LABELS = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)]
COUNTS = _RNG.poisson(np.exp(0.5 * X[:, 0]))
NEW = _RNG.normal(size=(4, 3))

G = k.Gaussian(1.5)
BUILD = {
    "GRLSRegressor": lambda: (grls.GRLSRegressor(G, features="linear", regularization="reml").fit(X, Y), NEW),
    "two outputs": lambda: (
        grls.GRLSRegressor(G + 0.5 * k.Laplace(1.0).on([0]), per_output=True).fit(X, TWO),
        NEW,
    ),
    "prior of features": lambda: (
        grls.GRLSRegressor(G, features="quadratic", feature_variance=1.0, regularization=0.1).fit(X, Y),
        NEW,
    ),
    "sparse": lambda: (
        grls.GRLSRegressor(k.Linear() + k.Matern(1.0, 0.8), regularization=0.1).fit(SPARSE, Y),
        SPARSE[:4],
    ),
    "groups": lambda: (
        grls.GRLSRegressor(G, regularization="logo").fit(X, Y, groups=np.arange(24) % 4),
        NEW,
    ),
    "noise": lambda: (
        grls.GRLSRegressor(G, kernel_variance=2.0).fit(X, Y, noise=np.full(24, 0.1)),
        NEW,
    ),
    "view": lambda: (
        grls.GRLSRegressor(G.after(StandardScaler()) * k.Linear(), regularization=0.1).fit(X, Y),
        NEW,
    ),
    "all kernels": lambda: (
        grls.GRLSRegressor(
            k.Periodic(1.0, 2.0).on(0)
            + k.Polynomial(2).normalized()
            + k.ArcCosine(1)
            + k.Wendland(3.0)
            + k.PowerSeries(k.RationalQuadratic(1.0), [0.1, 0.2])
            + k.Rotated(G, 30.0).on([0, 1]),
            regularization=0.1,
        ).fit(X, Y),
        NEW,
    ),
    "labels": lambda: (
        grls.GRLSRegressor(k.Categorical(0.7).on([0]) + k.Laplace(1.0, "l1").on([1]), regularization=0.1).fit(
            np.round(X), Y
        ),
        np.round(NEW),
    ),
    "thin plate": lambda: (
        grls.GRLSRegressor(k.ThinPlate(), features="linear", regularization=0.1).fit(X, Y),
        NEW,
    ),
    "GRLSClassifier": lambda: (
        grls.GRLSClassifier(G, features=EstimatorFeatures(GaussianNB()), regularization=0.1).fit(X, LABELS),
        NEW,
    ),
    "neighbours": lambda: (
        grls.GRLSClassifier(G, features=GeodesicKNN(2), regularization=0.1).fit(X, LABELS),
        NEW,
    ),
    "columns": lambda: (grls.GRLSClassifier(G, features=Columns([0, 2])).fit(X, LABELS), NEW),
    "SVMGBClassifier": lambda: (
        grls.SVMGBClassifier(G, features="linear", probability=True, C=1.0).fit(X, LABELS),
        NEW,
    ),
    "machine of sparse rows": lambda: (
        grls.SVMGBClassifier(k.Linear(), C=1.0, feature_variance=1.0).fit(SPARSE, LABELS),
        SPARSE[:4],
    ),
    "OneClassSVMGB": lambda: (grls.OneClassSVMGB(G, features="linear").fit(X), NEW),
    "GRLogisticClassifier": lambda: (
        grls.GRLogisticClassifier(G, regularization=0.1).fit(X, LABELS),
        NEW,
    ),
    "logistic of two": lambda: (
        grls.GRLogisticClassifier(G, features=PolynomialTrend(0), regularization=0.1).fit(X, Y > 0),
        NEW,
    ),
    "GRRegressor": lambda: (
        grls.GRRegressor(G, loss="quantile", quantiles=[0.2, 0.8], regularization=0.1).fit(X, Y),
        NEW,
    ),
    "huber": lambda: (grls.GRRegressor(G, loss="huber", regularization=0.1).fit(X, Y), NEW),
    "poisson": lambda: (grls.GRRegressor(G, loss="poisson", regularization=0.1).fit(X, COUNTS), NEW),
    "gamma": lambda: (grls.GRRegressor(G, loss="gamma", regularization=0.1).fit(X, np.exp(Y)), NEW),
    "conjugate gradients": lambda: (grls.GRLSRegressor(G, solver="cg", regularization=0.1).fit(X, Y), NEW),
    "learnt noise": lambda: (grls.GRLSRegressor(G, noise="learn").fit(X, Y), NEW),
    "kernel chosen": lambda: (grls.GRLSRegressor().fit(X, Y), NEW),
    "ConformalRegressor": lambda: (
        grls.conformal.ConformalRegressor(grls.GRLSRegressor(G, regularization=0.1), alpha=0.3).fit(X, Y),
        NEW,
    ),
    "FourierGRLSRegressor": lambda: (
        grls.FourierGRLSRegressor(k.Matern(1.0).on([0, 1]), features="linear", regularization=0.1).fit(X, Y),
        NEW,
    ),
    "NystromGRRegressor": lambda: (
        grls.NystromGRRegressor(G, loss="poisson", n_centers=8, regularization=0.1).fit(X, COUNTS),
        NEW,
    ),
    "NystromGRLSRegressor": lambda: (
        grls.NystromGRLSRegressor(G, n_centers=8, regularization=0.1).partial_fit(X, Y),
        NEW,
    ),
    "centres with a prior": lambda: (
        grls.NystromGRLSRegressor(
            G, features="linear", feature_variance=1.0, n_centers=8, regularization=0.1
        ).partial_fit(SPARSE, Y),
        SPARSE[:4],
    ),
    "NystromGRLSClassifier": lambda: (
        grls.NystromGRLSClassifier(G, n_centers=8).partial_fit(X, LABELS, classes=["a", "b", "c"]),
        NEW,
    ),
    "PriorRLSRegressor": lambda: (
        grls.PriorRLSRegressor(covariance=[1.0, 2.0, 3.0], features="quadratic").fit(X, TWO),
        NEW,
    ),
    "PriorRLSClassifier": lambda: (grls.PriorRLSClassifier(kernel="gaussian").fit(X, LABELS), NEW),
    "low rank prior": lambda: (
        grls.PriorRLSRegressor(covariance=grls.LowRankCovariance(np.ones(3), np.ones((3, 1)))).fit(X, Y),
        NEW,
    ),
    "TransferPrior": lambda: (
        grls.PriorRLSRegressor(covariance=grls.TransferPrior().fit([(X, Y), (X, X[:, 1]), (X, X[:, 2])])).fit(
            X, Y
        ),
        NEW,
    ),
    "KernelPCA": lambda: (grls.KernelPCA(2, G, fit_inverse_transform=True).fit(X), NEW),
    "components of centres": lambda: (grls.KernelPCA(2, k.Linear(), n_centers=6).fit(SPARSE), SPARSE[:4]),
    "MercerExpansion": lambda: (grls.MercerExpansion(3, G).fit(X), NEW),
    "PLSA": lambda: (
        PLSA(2, random_state=0).fit(sparse.csr_matrix(np.round(3 * POSITIVE))),
        np.round(3 * POSITIVE),
    ),
    "trend": lambda: (PolynomialTrend(2).fit(X), NEW),
}


@functools.cache
def fitted(name):
    """Return a model as bytes, points to ask it about, and the ways to its attributes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, points = BUILD[name]()
    model = pickle.loads(pickle.dumps(model))
    return pickle.dumps(model), points, list(_ways(model))


def kinds():
    """Return the types of all models, and of what they are made of."""

    def found(thing, depth=5):
        yield type(thing)
        for _, part in _parts(thing) if depth else []:
            yield from found(part, depth - 1)

    return {kind for name in BUILD for kind in found(pickle.loads(fitted(name)[0]))}


def _parts(thing):
    """Return the parts of a thing by their names, each name a pair: how it is reached, and the key."""
    if isinstance(thing, dict):
        return [(("key", key), part) for key, part in thing.items() if isinstance(key, str | int)]
    if isinstance(thing, list):
        return [(("key", number), part) for number, part in enumerate(thing[:4])]
    if (
        isinstance(thing, np.ndarray)
        or sparse.issparse(thing)
        or isinstance(thing, type)
        or (callable(thing) and not (hasattr(thing, "get_params")))
    ):
        return []
    if hasattr(thing, "__dict__") and type(thing).__module__.split(".")[0] in ("grls", "sklearn"):
        return [(("attribute", name), part) for name, part in vars(thing).items()]
    return []


def _ways(thing, way=(), depth=5):
    for step, part in _parts(thing):
        yield (*way, step)
        if depth:
            yield from _ways(part, (*way, step), depth - 1)


def _step(thing, step):
    kind, key = step
    return thing[key] if kind == "key" else vars(thing)[key]


def _put(thing, step, value):
    kind, key = step
    if kind == "key":
        thing[key] = value
    else:
        object.__setattr__(thing, key, value)


def _parameters(model, method):
    """Return the names of what a method takes, nothing where there is none."""
    return inspect.signature(getattr(model, method)).parameters if hasattr(model, method) else {}


def _second(method, given, points):
    """Return the standard deviations that a method gives beside its values."""
    return method(points, return_std=True, **given)[1]


def _asked(model, points):
    """Return what a model can be asked, by name."""
    asked = {}
    for method in ("predict", "predict_proba", "decision_function", "transform", "score_samples", "sample"):
        if hasattr(model, method):
            asked[method] = getattr(model, method)
    noise = {"with_noise": True, "noise": 0.1} if getattr(model, "_knows_noise", False) else {}
    for method in ("predict", "decision_function", "linear_predictor"):
        if "return_std" in _parameters(model, method):
            given = noise if method == "predict" else {}
            asked[f"{method}, std"] = functools.partial(_second, getattr(model, method), given)
    if isinstance(model, grls.GRLSRegressor):
        asked["cov"] = lambda points: model.predict(points, return_cov=True)[1]
        asked["gradient"] = lambda points: model.predict(points, return_gradient=True)[1]
        asked["draws"] = lambda points: model.sample_y(points, 2)
    if hasattr(model, "predict_interval"):  # whose ends may be infinite
        asked["interval"] = lambda points: np.nan_to_num(model.predict_interval(points), nan=np.nan)
    if hasattr(model, "decompose"):
        asked["decompose"] = lambda points: np.stack(model.decompose(points))
    if hasattr(model, "inverse_transform"):
        asked["inverse_transform"] = lambda points: model.inverse_transform(np.ones((2, 2)))
    if hasattr(model, "rkhs_norm"):
        asked["rkhs_norm"] = lambda points: model.rkhs_norm(np.ones(len(X)))
    if hasattr(model, "perplexity"):
        asked["perplexity"] = model.perplexity
    return asked


def _others(model, points, rng):
    """Do what gives no numbers: sums, files, tables."""
    which = rng.random()
    if hasattr(model, "merge") and which < 0.3:
        model.merge(pickle.loads(pickle.dumps(model)))
    elif hasattr(model, "partial_fit") and which < 0.5:
        model.partial_fit(points, LABELS[:4] if hasattr(model, "classes_") else Y[:4])
    elif which < 0.6:
        pickle.loads(pickle.dumps(model))
    elif which < 0.62:
        grls.saving._skops().dumps(model)
    elif which < 0.66 and hasattr(model, "summary"):
        str(model.summary())
    elif which < 0.7 and hasattr(model, "cross_validate"):
        model.cross_validate(cv=3)
    else:
        repr(model)


def make(seed):
    """Return a tampered model, points, and what was changed, as text."""
    rng = np.random.default_rng(seed)
    name = pick(rng, list(BUILD))
    blob, points, ways = fitted(name)
    way = pick(rng, ways)
    model = pickle.loads(blob)
    holder = model
    for step in way[:-1]:
        holder = _step(holder, step)
    before = _step(holder, way[-1])
    with np.errstate(all="ignore"):
        after = mutations.any_value(rng, before)
    _put(holder, way[-1], after)
    where = "".join(f"[{key!r}]" if kind == "key" else f".{key}" for kind, key in way)
    return rng, name, model, points, f"{name}{where}: {_short(before)} -> {_short(after)}"


def _short(value):
    if sparse.issparse(value):  # its own words may fail by now
        return f"{type(value).__name__} of {value.data!r:.80}, {value.indices!r:.80}, {value.indptr!r:.80}"
    shape = f"{value.dtype}{value.shape} " if isinstance(value, np.ndarray) else ""
    return f"{type(value).__name__} {shape}{str(value)[:150]}"


def run(seed):
    """Ask one tampered model two things at random, and more; numbers or an error, and no NaN."""
    refused = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rng, _, model, points, what = make(seed)
        try:
            asked = _asked(model, points)
        except SystemError:
            raise
        except Exception:
            return "refused"
        for name in rng.permutation(list(asked))[:2]:
            try:
                answer = np.asarray(asked[name](points))
            except SystemError:
                raise
            except Exception:
                refused += 1
                continue
            if answer.dtype.kind == "f" and not np.isfinite(answer).all():
                raise AssertionError(f"{name} is not finite: {what}")
        try:
            _others(model, points, rng)
        except SystemError:
            raise
        except Exception:
            refused += 1
    return "refused" if refused else "answered"


def describe(seed):
    """Return what was changed."""
    return make(seed)[-1]


def shrink(seed, fails):
    """Return what was changed: it is one thing already."""
    return describe(seed)

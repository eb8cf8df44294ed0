"""Predefined features: what is known beforehand, left unpenalised.

Estimators take features in any of these forms; all end as one scikit-learn transformer:

* ``None``: no features, the plain kernel method;
* ``"constant"``, ``"linear"``, ``"quadratic"``: polynomial trends (`PolynomialTrend`);
* a list of columns, by name or position, which come with a constant: `Columns`;
* a function ``X -> (n, l)``;
* any transformer, cloned and fitted inside ``fit`` with X and y: scikit-learn's, one of these, or your own.

=====================  ====================================================================================
`PolynomialTrend`      a constant, linear or higher trend
`Columns`              some columns of the data: an external drift, the answer of a simpler model
`Indicators`           indicators of groups of rows, which may overlap
`Groups`               an effect for each level of a column: stores, subjects, sites
`LinearMap`            the columns times a matrix
`NormalScores`         the columns, and normal scores of those with long tails: for kernels to read
`PLSA`                 the topics of counts such as those of words, without labels
`GeodesicKNN`          the classes of the nearest labelled points along the manifold of the data
`EstimatorFeatures`    what another estimator says, out of fold on the training rows
=====================  ====================================================================================

Several together are a union of scikit-learn; here topics, and a linear trend in the date without its
constant, for the topics of a document sum to one and so contain it:

>>> import numpy as np
>>> from grls import GRLSRegressor
>>> from grls.features import PLSA, Columns
>>> from sklearn.pipeline import make_pipeline, make_union
>>> rng = np.random.default_rng(0)
>>> X = np.column_stack([rng.poisson(3.0, size=(40, 6)), np.linspace(2000, 2020, 40)])
>>> words = Columns(list(range(6)), constant=False)
>>> topics_and_date = make_union(make_pipeline(words, PLSA(2)), Columns(6, constant=False))
>>> model = GRLSRegressor(features=topics_and_date, regularization=0.1).fit(X, X[:, 0])
>>> [name.split("__")[-1] for name in model.feature_names_free_]
['topic0', 'topic1', 'x6']
"""

from ._columns import Columns
from ._estimator import EstimatorFeatures
from ._geodesic import GeodesicKNN
from ._groups import Groups
from ._indicators import Indicators
from ._linear_map import LinearMap
from ._plsa import PLSA
from ._resolve import as_transformer, evaluate, names
from ._scores import NormalScores
from ._trend import PolynomialTrend

__all__ = [
    "PLSA",
    "Columns",
    "EstimatorFeatures",
    "GeodesicKNN",
    "Groups",
    "Indicators",
    "LinearMap",
    "NormalScores",
    "PolynomialTrend",
    "as_transformer",
    "evaluate",
    "names",
]
__dir__ = __all__.copy

"""Kernels on the sphere, and along axes that are turned."""

import grls
import numpy as np
import pytest
import reference
from grls import GRLSRegressor
from grls.kernels import (
    ChiSquared,
    Constant,
    Gaussian,
    Laplace,
    Linear,
    Log,
    Matern,
    Overlap,
    Periodic,
    Rotated,
    Sphere,
    Spherical,
    ThinPlate,
    Wendland,
)
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone


def globe(n, seed=0):
    """Latitudes and longitudes, evenly on the sphere."""
    rng = np.random.default_rng(seed)
    return np.column_stack([np.degrees(np.arcsin(rng.uniform(-1, 1, n))), rng.uniform(-180, 180, n)])


def great_circle(X, Z):
    """The angle between places, by the haversine."""
    a, b = (np.radians(A) for A in (X, Z))
    across = np.cos(a[:, :1]) * np.cos(b[:, 0]) * np.sin((a[:, 1:] - b[:, 1]) / 2) ** 2
    return 2 * np.arcsin(np.sqrt(np.sin((a[:, :1] - b[:, 0]) / 2) ** 2 + across))


SPECIAL = np.array(
    [
        [90.0, 0.0],
        [90.0, 133.0],
        [90.0, -180.0],
        [-90.0, 12.0],
        [-90.0, 360.0],
        [0.0, 180.0],
        [0.0, -180.0],
        [0.0, 540.0],
        [45.0, 179.999],
        [45.0, -179.999],
        [45.0, 180.001],
        [0.0, 0.0],
        [0.0, 360.0],
        [0.0, -720.0],
        [-33.0, 151.0],
        [89.9999, 20.0],
        [89.9999, -160.0],
    ]
)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("kernel", [Gaussian, Laplace, Matern, Spherical, Wendland])
def test_a_sphere_has_the_chordal_matrix(kernel, form):
    X, Z = np.vstack([globe(60), SPECIAL]), np.vstack([SPECIAL, globe(30, 1)])
    chord = 2 * np.sin(great_circle(X, Z) / 2)
    for radius in (1.0, 6371.0):
        got = Sphere(kernel(0.8 * radius), radius)(form(X), form(Z))
        by_distance = kernel(0.8)  # in one dimension the distance from the origin
        if kernel is Wendland:
            by_distance = Wendland(0.8, dimension=3)
        expected = by_distance([[0.0]], chord.reshape(-1, 1)).reshape(chord.shape)
        assert_allclose(got, expected, atol=3e-8)  # the haversine knows half a turn to eight digits
        u, v = reference.places(X, radius), reference.places(Z, radius)
        assert_allclose(got, kernel(0.8 * radius)(u, v), rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_pole_is_one_point_and_the_date_line_no_border(form):
    K = Sphere(Laplace(1e-9))(form(SPECIAL))  # zero between any two places that are not the same
    same = np.zeros_like(K)
    for places in ([0, 1, 2], [3, 4], [5, 6, 7], [9, 10], [11, 12, 13]):
        same[np.ix_(places, places)] = 1
    np.fill_diagonal(same, 1)
    exact = [i for i in range(len(SPECIAL)) if i not in (9, 10)]
    assert np.array_equal(K[np.ix_(exact, exact)], same[np.ix_(exact, exact)])
    assert K[9, 10] > 0.999  # 180.001 turned by 360 is rounded
    # The way across the date line is as long as any other of two thousandths of a degree.
    near = Sphere(Laplace(1e-4))(
        form(np.array([[45.0, 179.999], [45.0, -179.999], [45.0, 0.0], [45.0, 0.002]]))
    )
    assert_allclose(near[0, 1], near[2, 3], rtol=1e-9)


def test_small_distances_keep_their_digits():
    X = globe(50)
    Z = X + np.array([0.0, 1e-7])
    expected = np.radians(1e-7) * np.cos(np.radians(X[:, 0]))
    got = -1e-9 * np.log(np.diag(Sphere(Laplace(1e-9))(X, Z)))
    assert_allclose(got, expected, atol=3e-16)


def test_the_kernel_is_definite_where_a_gaussian_of_the_great_circle_is_not():
    X = globe(150)
    assert np.linalg.eigvalsh(np.exp(-(great_circle(X, X) ** 2) / 2)).min() < -1e-3
    for kernel in (Gaussian(1.0), Matern(1.0, 0.7), Spherical(0.7), Wendland(1.5, 2), Laplace(2.0)):
        assert np.linalg.eigvalsh(Sphere(kernel)(X)).min() > -1e-12
    N = reference.null_space(np.ones((150, 1)))
    assert np.linalg.eigvalsh(N.T @ Sphere(Log())(X) @ N).min() > -1e-12


def test_the_median_width_is_a_chord():
    X = globe(40)
    resolved = Sphere(Gaussian(), radius=6371.0).resolve(X)
    u = reference.places(X, 6371.0)
    distances = np.sqrt(reference.squared_distances(u, u)[np.triu_indices(40, 1)])
    assert_allclose(resolved.kernel.sigma, np.median(distances), rtol=1e-12)
    assert_allclose(
        Sphere(Gaussian(), radius=6371.0).resolve(sparse.csr_matrix(X)).kernel.sigma, np.median(distances)
    )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_latitude_beyond_the_pole_is_refused(form):
    X = globe(20)
    Z = X.copy()
    Z[7] = [-90.5, 10.0]
    for A, B in ((Z, Z), (X, Z), (Z, X)):
        with pytest.raises(ValueError, match=r"latitude lies between -90 and 90; found -90\.5 in row 7"):
            Sphere(Gaussian(1.0))(form(A), form(B))
    Sphere(Gaussian(1.0))(form(X[:, ::-1] / 4))  # any longitude will do


@pytest.mark.parametrize("wrap", [Sphere, Rotated])
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Linear(), r"takes kernels of the Euclidean distance with one width.*found"),
        (Gaussian([1.0, 2.0]), "one width.*found Gaussian"),
        (Laplace(1.0, "l1"), "found Laplace"),
        (Overlap(), "found Overlap"),
        (ChiSquared(), "found ChiSquared"),
        (Periodic(1.0), "found Periodic"),
        (Gaussian(1.0).on(0), "read all its columns; found Gaussian"),
        (Gaussian("medians"), "one width"),
        (Sphere(Gaussian(1.0)), "columns are mapped once"),
        (Rotated(Gaussian(1.0)), "columns are mapped once"),
        (Gaussian(1.0).after(np.eye(2)), r"views stand outside, \w+\(kernel\)\.after\(transformer\)"),
    ],
    ids=repr,
)
def test_kernels_that_cannot_be_mapped_are_refused(wrap, kernel, message):
    with pytest.raises(ValueError, match=message):
        wrap(kernel)(globe(10) / 10)


def test_other_parameters_that_cannot_be():
    X = globe(10)
    for kernel, error, message in [
        (Sphere(Gaussian(1.0), 0.0), ValueError, "Sphere.radius must be greater than 0"),
        (Sphere(Gaussian(1.0), "earth"), TypeError, "Sphere.radius"),
        (Sphere(ThinPlate()), ValueError, "order 0 or 1; ThinPlate.*has order 2"),
        (Rotated(Gaussian(1.0), 400.0), ValueError, "Rotated.angle must be at most 360"),
        (Rotated(Gaussian(1.0), -400.0), ValueError, "Rotated.angle must be at least -360"),
        (Rotated(Gaussian(1.0), np.nan), ValueError, "Rotated.angle must be finite"),
        (Rotated(Gaussian(1.0), 10.0, 0.0), ValueError, "Rotated.ratio must be greater than 0"),
        (Sphere(Gaussian(-1.0)), ValueError, "Gaussian.sigma must be greater than 0"),
    ]:
        with pytest.raises(error, match=message):
            kernel(X)
    for wrap in (Sphere, Rotated):
        with pytest.raises(
            ValueError, match=rf"reads two columns, not 3: name them, {wrap.__name__}\(kernel\)"
        ):
            wrap(Gaussian(1.0))(np.zeros((4, 3)))
        with pytest.raises(ValueError, match="reads two columns, not 1"):
            wrap(Gaussian()).on(0)(np.zeros((4, 3)))
        assert wrap(Constant(2.0))(X).shape == (10, 10)


def test_a_fit_on_the_sphere_is_one_in_space():
    X = globe(200)
    y = np.sin(2 * np.radians(X[:, 0])) * np.cos(np.radians(X[:, 1])) + 3
    new = np.vstack([globe(50, 5), SPECIAL])
    on_sphere = GRLSRegressor(Sphere(Matern()), optimize=True, regularization="reml").fit(X, y)
    in_space = GRLSRegressor(Matern(), optimize=True, regularization="reml").fit(reference.places(X), y)
    assert_allclose(on_sphere.kernel_.kernel.sigma, in_space.kernel_.sigma, rtol=1e-3)
    assert_allclose(on_sphere.optimization_.bounds[:1], in_space.optimization_.bounds[:1], rtol=1e-9)
    expected = np.sin(2 * np.radians(new[:, 0])) * np.cos(np.radians(new[:, 1])) + 3
    mean, std = on_sphere.predict(new, return_std=True)
    assert np.abs(mean - expected).max() < 0.05
    same = in_space.predict(reference.places(new), return_std=True)
    assert_allclose(mean, same[0], atol=1e-4)
    assert_allclose(std, same[1], rtol=1e-2, atol=1e-5)
    assert np.ptp(on_sphere.predict(np.array([[90.0, 0.0], [90.0, 77.0], [90.0, -180.0]]))) == 0


# Turned axes.


def test_a_direction_has_its_own_width():
    kernel = Rotated(Laplace(2.0), angle=30.0, ratio=0.25)
    direction = np.array([[np.cos(np.pi / 6), np.sin(np.pi / 6)]])
    across = np.array([[-np.sin(np.pi / 6), np.cos(np.pi / 6)]])
    assert_allclose(kernel(np.zeros((1, 2)), 2 * direction), np.exp(-1), rtol=1e-14)
    assert_allclose(kernel(np.zeros((1, 2)), 0.5 * across), np.exp(-1), rtol=1e-14)


def test_half_a_turn_changes_nothing_and_a_quarter_exchanges_the_axes():
    X = np.random.default_rng(0).normal(size=(30, 2))
    K = Rotated(Gaussian(1.0), 25.0, 0.3)(X)
    assert_allclose(Rotated(Gaussian(1.0), 205.0, 0.3)(X), K, rtol=1e-12)
    assert_allclose(Rotated(Gaussian(1.0), -155.0, 0.3)(X), K, rtol=1e-12)
    assert_allclose(Rotated(Gaussian(0.3), 115.0, 1 / 0.3)(X), K, rtol=1e-12)
    assert_allclose(Rotated(Gaussian(1.0), 77.0)(X), Gaussian(1.0)(X), rtol=1e-12)
    assert_allclose(Rotated(Gaussian(2.0), 0.0, 0.5)(X), Gaussian([2.0, 1.0])(X), rtol=1e-12)


def test_map_coordinates_far_from_the_origin_lose_no_digits():
    rng = np.random.default_rng(0)
    X = rng.integers(-256, 257, size=(40, 2)) / 256
    kernel = Rotated(Laplace(0.5), 30.0, 0.4)
    assert_allclose(kernel(X + 2.0**20), kernel(X), rtol=1e-11)


@pytest.mark.parametrize("start", [0.0, 60.0, -120.0])
def test_direction_and_ratio_are_learnt_from_the_data(start):
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 10, size=(300, 2))
    truth = Rotated(Matern(3.0, 1.5), angle=30.0, ratio=0.3)
    y = np.linalg.cholesky(truth(X) + 1e-8 * np.eye(300)) @ rng.normal(size=300)
    model = GRLSRegressor(
        Rotated(Matern(), angle=start, ratio=0.5), optimize=True, regularization="reml", features="constant"
    ).fit(X, y)
    assert abs((model.kernel_.angle - 30 + 90) % 180 - 90) < 6
    assert 0.2 < model.kernel_.ratio < 0.45
    record = model.optimization_
    angle = record.parameters.index("angle")
    assert record.starts[0, angle] == start
    assert record.ends[record.best, angle] == pytest.approx(model.kernel_.angle, rel=1e-9)
    assert np.array_equal(record.bounds[angle], [-270.0, 270.0])


def test_a_scale_that_gamma_makes_superfluous_is_not_tuned():
    X = globe(40)
    y = np.cos(np.radians(X[:, 0]))
    for kernel in (Sphere(2.0 * Gaussian(1.0)), Rotated(2.0 * Gaussian(50.0), 10.0, 0.5)):
        model = GRLSRegressor(kernel, optimize=True, regularization="reml").fit(X, y)
        assert not any("scale" in name for name in model.optimization_.parameters)


@pytest.mark.parametrize(
    "kernel", [Sphere(Gaussian(0.5), radius=2.0), Rotated(Laplace(0.5) + Gaussian(1.0), 10.0, 0.7)], ids=repr
)
def test_mapped_kernels_are_read_back_and_cloned(kernel):
    X = globe(10)
    again = eval(repr(kernel), vars(grls.kernels))
    assert again.is_same(kernel, 2)
    assert clone(kernel).is_same(kernel, 2)
    assert_allclose(again(X), kernel(X))
    other = clone(kernel).set_params(**({"radius": 3.0} if isinstance(kernel, Sphere) else {"angle": 11.0}))
    assert not other.is_same(kernel, 2)

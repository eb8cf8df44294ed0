"""Kernels on the sphere, and along axes that are turned."""

import grls
import numpy as np
import pytest
import reference
from grls import GRLSRegressor
from grls._selection.parameters import Parameters
from grls._solvers.kernel_problem import KernelProblem
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


@pytest.mark.filterwarnings("ignore:rounding may move a standard deviation")  # there is next to no noise
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


# Turned axes in space.


def test_angles_are_azimuth_dip_and_rake():
    angles, ratios = np.radians([30.0, 20.0, 50.0]), (0.25, 3.0)
    azimuth, dip, rake = angles
    along = np.array([np.cos(azimuth) * np.cos(dip), np.sin(azimuth) * np.cos(dip), np.sin(dip)])
    level = np.array([-np.sin(azimuth), np.cos(azimuth), 0])
    upright = np.cross(along, level)
    second = np.cos(rake) * level + np.sin(rake) * upright
    kernel = Rotated(Laplace(2.0), angle=(30.0, 20.0, 50.0), ratio=ratios)
    for axis, width in ((along, 2.0), (second, 0.5), (np.cross(along, second), 6.0)):
        assert_allclose(kernel(np.zeros((1, 3)), width * axis[None]), np.exp(-1), rtol=1e-14)


def test_turns_of_space_that_change_nothing():
    X = np.random.default_rng(0).normal(size=(30, 3))
    K = Rotated(Gaussian(1.0), (25.0, 40.0, 70.0), (0.3, 2.0))(X)
    for same in ((205.0, 140.0, 250.0), (205.0, -40.0, -70.0), (25.0, 40.0, 250.0), (-335.0, 40.0, -110.0)):
        assert_allclose(Rotated(Gaussian(1.0), same, (0.3, 2.0))(X), K, rtol=1e-11)
    assert_allclose(Rotated(Gaussian(1.0), (25.0, 40.0, 160.0), (2.0, 0.3))(X), K, rtol=1e-11)
    assert_allclose(Rotated(Gaussian(1.0), (77.0, 10.0, 3.0))(X), Gaussian(1.0)(X), rtol=1e-12)
    widths = Gaussian([2.0, 1.0, 0.5])(X)
    assert_allclose(Rotated(Gaussian(2.0), (0.0, 0.0, 0.0), (0.5, 0.25))(X), widths, rtol=1e-12)
    one = Rotated(Gaussian(1.0), (25.0, 40.0, 70.0), 0.3)(X)
    assert_allclose(Rotated(Gaussian(1.0), (25.0, 40.0, -15.0), (0.3, 0.3))(X), one, rtol=1e-12)


def test_an_azimuth_alone_is_the_angle_of_two_columns():
    X = np.random.default_rng(0).normal(size=(30, 3))
    flat = Rotated(Gaussian(1.5), 35.0, 0.4).on([0, 1])(X) * Gaussian(3.0).on([2])(X)
    assert_allclose(Rotated(Gaussian(1.5), (35.0, 0.0, 0.0), (0.4, 2.0))(X), flat, rtol=1e-12)


@pytest.mark.parametrize("angles", [(20.0, 30.0, -40.0), (0.0, 0.0, 0.0), (100.0, 90.0, 10.0)])
@pytest.mark.parametrize("ratio", [(0.4, 1.8), 0.6], ids=["two ratios", "one ratio"])
@pytest.mark.parametrize("criterion", ["reml", "loo"])
def test_derivatives_by_angles_and_ratios(angles, ratio, criterion):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 1))
    names = ["angle", "ratio", "kernel__sigma"]

    def value_and_gradient(point):
        parameters = Parameters(Rotated(Matern(1.0, 2.5), angles, ratio), names, 3)
        parameters.set(point)
        problem = KernelProblem(parameters.kernel, X, np.ones((40, 1)), None)
        answer, slopes = parameters.gradient(problem, y, 1e-2, criterion)
        return answer.value, slopes

    point = Parameters(Rotated(Matern(1.0, 2.5), angles, ratio), names, 3).get()
    slopes = value_and_gradient(point)[1]
    step = 1e-5 * np.maximum(point / 100, 1)
    difference = [
        (value_and_gradient(point + e)[0] - value_and_gradient(point - e)[0]) / (2 * e.sum())
        for e in np.diag(step)
    ]
    assert len(slopes) == 4 + np.size(ratio)
    assert_allclose(slopes, difference, rtol=1e-6, atol=1e-6 * np.abs(slopes).max())


@pytest.mark.parametrize("start", [(0.0, 0.0, 0.0), (80.0, -20.0, 30.0)], ids=str)
def test_a_rotation_of_space_is_learnt_from_the_data(start):
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 10, size=(350, 3))
    truth = Rotated(Gaussian(6.0), angle=(40.0, 25.0, 20.0), ratio=(0.5, 0.25))
    y = np.linalg.cholesky(truth(X) + 1e-6 * np.eye(350)) @ rng.normal(size=350)
    model = GRLSRegressor(
        Rotated(Gaussian(5.0), angle=start, ratio=(0.6, 0.4)),
        optimize=True,
        regularization="reml",
        features="constant",
    ).fit(X, y)

    def metric(kernel):  # that of distances in units of widths, whichever angles it is written with
        A = kernel._axes()[0] / kernel.kernel.sigma
        return A.T @ A

    found, expected = (np.linalg.eigh(metric(kernel)) for kernel in (model.kernel_, truth))
    cosines = np.abs(np.sum(found[1] * expected[1], axis=0))
    assert np.degrees(np.arccos(np.minimum(cosines, 1))).max() < 5
    assert_allclose(found[0] ** -0.5, expected[0] ** -0.5, rtol=0.2)
    record = model.optimization_
    labels = ["angle[0]", "angle[1]", "angle[2]", "ratio[0]", "ratio[1]"]
    assert [name for name in record.parameters if name != "kernel__sigma"] == labels
    at = [record.parameters.index(name) for name in labels[:3]]
    assert_allclose(record.starts[0, at], start, atol=1e-9)
    assert_allclose(record.ends[record.best, at], model.kernel_.angle, rtol=1e-9)
    assert np.array_equal(record.bounds[at], [[-270.0, 270.0]] * 3)


@pytest.mark.parametrize(
    ("angle", "ratio", "n_columns", "error", "message"),
    [
        ((1.0, 2.0, 3.0), 1.0, 2, ValueError, r"reads three columns, not 2: .*; two columns have one angle"),
        ((1.0, 2.0, 3.0), 1.0, 4, ValueError, r"three columns, not 4: name them, .*\.on\(\[0, 1, 2\]\)$"),
        (1.0, 1.0, 3, ValueError, "reads two columns, not 3: .*; three columns have three angles"),
        ((1.0, 2.0), 1.0, 3, ValueError, "angle must be one number, of two columns, or three"),
        ([[1.0, 2.0, 3.0]], 1.0, 3, ValueError, "angle must be one number"),
        ((1.0, 2.0, 400.0), 1.0, 3, ValueError, "Rotated.angle must be at most 360"),
        ((1.0, -400.0, 3.0), 1.0, 3, ValueError, "Rotated.angle must be at least -360"),
        ((1.0, np.nan, 3.0), 1.0, 3, ValueError, "Rotated.angle must be finite"),
        (("a", "b", "c"), 1.0, 3, TypeError, "Rotated.angle must be a number"),
        ((1.0, 2.0, 3.0), (1.0, 0.0), 3, ValueError, "Rotated.ratio must be greater than 0"),
        (
            (1.0, 2.0, 3.0),
            (1.0, 2.0, 3.0),
            3,
            ValueError,
            "ratio must be one number, or of three columns two",
        ),
        (1.0, (1.0, 2.0), 2, ValueError, "ratio must be one number, or of three columns two"),
    ],
)
def test_angles_and_ratios_that_cannot_be(angle, ratio, n_columns, error, message):
    with pytest.raises(error, match=message):
        Rotated(Gaussian(1.0), angle, ratio)(np.zeros((4, n_columns)))


def test_a_model_in_space_travels(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    kernel = Rotated(Matern(), (30.0, 20.0, 10.0), (0.5, 0.3)).on([3, 0, 1])
    model = GRLSRegressor(kernel, regularization="reml", optimize=["kernel__angle"]).fit(X, X[:, 0] ** 2)
    grls.save(model, tmp_path / "model.grls")
    again = grls.load(tmp_path / "model.grls")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.kernel_.kernel.angle, model.kernel_.kernel.angle)
    step, new = 1e-5, X[:5]
    gradient = model.predict(new, return_gradient=True)[1]
    for j, e in enumerate(step * np.eye(4)):
        assert_allclose(
            gradient[:, j], (model.predict(new + e) - model.predict(new - e)) / (2 * step), atol=1e-6
        )


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


@pytest.mark.parametrize("form", [tuple, list, np.array])
def test_kernels_turned_in_space_are_read_back_and_cloned(form):
    kernel = Rotated(Gaussian(1.0), form([10.0, 20.0, -30.0]), form([0.5, 2.0]))
    for again in (eval(repr(kernel), vars(grls.kernels)), clone(kernel)):
        assert again.is_same(kernel, 3)
    assert sorted(kernel.get_params(deep=False)) == ["angle", "kernel", "ratio"]
    assert not clone(kernel).set_params(angle=[10.0, 20.0, -31.0]).is_same(kernel, 3)
    assert not clone(kernel).set_params(ratio=0.5).is_same(kernel, 3)

"""The oracle: every equation once, in plain NumPy, written for reading and not for speed; one file a subject.

Letters and equation numbers are those of "Generalized Regularized Least-Squares Learning with Predefined
Features": T (m, l) the features at the samples, Phi (m, m) the kernel matrix, P (m, l) the features φ'.
"""

# ruff: noqa: F401
from .basis import E, H, H_between, null_space, others, phi_prime, polynomials
from .conformal import (
    jackknife_plus,
    split_conformal,
    threshold_by_program,
    threshold_by_refits,
)
from .families import (
    family_curvatures,
    family_objective,
    family_slopes,
    leave_one_out_along_steps,
    unit_deviance,
)
from .geodesics import class_shares, neighbour_graph, shortest_paths
from .kernels import (
    arc_cosine,
    categorical,
    chi_squared,
    constant,
    gaussian,
    inner_products,
    laplace,
    laplace_l1,
    linear,
    log_kernel,
    matern,
    multiquadric,
    normalized,
    overlap,
    periodic,
    places,
    polyharmonic,
    polynomial,
    rational_quadratic,
    sigmoid,
    spherical,
    squared_distances,
    turned,
    turned_in_space,
    wendland,
)
from .least_squares import (
    objective,
    ordinary_least_squares,
    published_function,
    solve_exact,
    solve_published,
    weighted_objective,
)
from .logistic import (
    laplace_covariance,
    logistic_objective,
    logistic_slopes,
    multinomial_objective,
    newton_leave_one_out,
    zero_sum_basis,
)
from .nystrom import nystrom_gcv, solve_nystrom, whitened, whitening
from .pca import centred, centred_nystrom, kernel_pca, project
from .prior import kernel_components, prior_map, prior_objective, prior_published
from .programs import bias_by_highs, bias_losses, bias_problem, svm_problem
from .selection import (
    central_differences,
    feature_kernel,
    gcv,
    leave_groups_out,
    leave_groups_out_by_refits,
    leave_one_out,
    leave_one_out_by_refits,
    mean_squared_leave_one_out,
    observations,
    of_observations,
    reduced,
    reml,
    residual_operator,
    standardised,
)
from .svm import svm_dual, svm_objective, svm_program, svm_violation
from .topics import plsa, plsa_gap, plsa_log_likelihood, plsa_update
from .uncertainty import kriging_parts, kriging_parts_of_a_prior, kriging_system, universal_kriging

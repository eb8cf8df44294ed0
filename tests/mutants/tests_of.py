"""Which tests should notice a fault in a file: those of its subject, the nearest first."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# The longest prefix of a file's path counts.
TESTS_OF = {
    # Python, below python/grls/
    "python/grls/_parameters.py": [
        "contract/test_errors.py",
        "models/test_stumbles.py",
        "contract/test_contract.py",
    ],
    "python/grls/_validation.py": [
        "contract/test_errors.py",
        "models/test_stumbles.py",
        "contract/test_contract.py",
    ],
    "python/grls/_input_errors.py": ["contract/test_messages.py", "contract/test_errors.py"],
    "python/grls/_out_of_fold.py": ["features/test_estimator_features.py", "models/test_svm.py"],
    "python/grls/_replacing.py": ["saving", "nystrom/test_files.py"],
    "python/grls/_versions.py": ["saving"],
    "python/grls/core.py": ["solvers", "models/test_prior_kernel.py"],
    "python/grls/decomposition.py": ["models/test_decomposition.py", "contract/test_errors.py"],
    "python/grls/least_squares.py": [
        "models/test_least_squares.py",
        "models/test_coefficients.py",
        "selection/test_regularization.py",
        "models",
        "selection",
    ],
    "python/grls/logistic.py": [
        "models/test_logistic.py",
        "models/test_logistic_selection.py",
        "models/test_multinomial.py",
        "selection/test_kernel_choice.py",
    ],
    "python/grls/losses.py": [
        "models/test_losses.py",
        "models/test_smooth_losses.py",
        "contract/test_errors.py",
    ],
    "python/grls/mercer.py": ["models/test_mercer.py"],
    "python/grls/nystrom.py": ["nystrom"],
    "python/grls/one_class.py": ["models/test_one_class.py"],
    "python/grls/nystrom_losses.py": ["nystrom/test_smooth.py"],
    "python/grls/prior.py": [
        "models/test_prior.py",
        "models/test_prior_kernel.py",
        "models/test_summary.py",
    ],
    "python/grls/saving.py": ["saving"],
    "python/grls/summary.py": ["models/test_summary.py", "models/test_logistic_summary.py"],
    "python/grls/svm.py": [
        "models/test_svm.py",
        "models/test_chosen_in_folds.py",
        "models/test_hard_margin.py",
    ],
    "python/grls/conformal.py": ["models/test_conformal.py"],
    "python/grls/_conformal": ["models/test_conformal.py"],
    "python/grls/_models/leave_out_bands.py": ["models/test_leave_out_bands.py"],
    "python/grls/fourier.py": ["fourier"],
    "python/grls/_fourier": ["fourier"],
    "python/grls/transfer.py": ["models/test_transfer.py"],
    "python/grls/_models": ["models", "contract/test_errors.py"],
    "python/grls/_models/classification.py": [
        "models/test_images.py",
        "models/test_least_squares.py",
        "models/test_svm.py",
        "contract/test_errors.py",
    ],
    "python/grls/_models/calibration.py": ["models/test_svm.py", "models/test_chosen_in_folds.py"],
    "python/grls/_models/chosen.py": ["models/test_coefficients.py", "models/test_feature_variance.py"],
    "python/grls/_models/chosen_in_folds.py": ["models/test_chosen_in_folds.py", "models/test_svm.py"],
    "python/grls/_models/machines_in_folds.py": ["models/test_chosen_in_folds.py", "models/test_svm.py"],
    "python/grls/_models/pairs_of_classes.py": [
        "models/test_bias_face.py",
        "models/test_svm.py",
        "models/test_certificates.py",
        "models/test_chosen_in_folds.py",
    ],
    "python/grls/_models/cross_validation.py": [
        "models/test_cross_validation.py",
        "selection/test_groups.py",
    ],
    "python/grls/_models/families.py": ["models/test_smooth_losses.py", "models/test_losses.py"],
    "python/grls/_models/family_loss.py": ["models/test_smooth_losses.py"],
    "python/grls/_models/family_summary.py": ["models/test_smooth_losses.py", "models/test_summary.py"],
    "python/grls/_models/feature_prior.py": [
        "models/test_feature_variance.py",
        "models/test_coefficients.py",
        "models",
        "nystrom",
    ],
    "python/grls/_models/kernel_test.py": ["models/test_kernel_test.py", "models/test_summary.py"],
    "python/grls/_models/learnt_noise.py": ["models/test_learnt_noise.py"],
    "python/grls/_models/logistic_loss.py": [
        "models/test_logistic.py",
        "models/test_multinomial.py",
        "models/test_logistic_selection.py",
    ],
    "python/grls/_models/logistic_summary.py": ["models/test_logistic_summary.py"],
    "python/grls/_models/losses.py": ["models/test_losses.py"],
    "python/grls/_models/piecewise.py": ["models/test_losses.py", "contract/test_errors.py"],
    "python/grls/_models/predictive.py": ["models/test_smooth_losses.py"],
    "python/grls/_models/robust_scale.py": ["models/test_losses.py"],
    "python/grls/_models/smooth_regression.py": ["models/test_smooth_losses.py"],
    "python/grls/_models/smooth_machine.py": ["models/test_smooth_losses.py", "models/test_logistic.py"],
    "python/grls/_models/uncertainty.py": [
        "models/test_uncertainty.py",
        "models/test_unconditional.py",
        "models/test_coefficients.py",
    ],
    "python/grls/_nystrom": ["nystrom"],
    "python/grls/_nystrom/posterior.py": ["nystrom/test_uncertainty.py", "nystrom"],
    "python/grls/_nystrom/statistics.py": ["nystrom/test_uncertainty.py", "nystrom"],
    "python/grls/_onnx": ["onnx"],
    "python/grls/_selection": [
        "selection",
        "models/test_feature_variance.py",
        "models/test_given_variances.py",
        "models/test_losses.py",
    ],
    "python/grls/_selection/estimation_error.py": [
        "models/test_unconditional.py",
        "models/test_uncertainty.py",
    ],
    "python/grls/_selection/held_out.py": ["models/test_chosen_in_folds.py"],
    "python/grls/_selection/smooth.py": ["models/test_logistic_selection.py", "models/test_smooth_losses.py"],
    "python/grls/_solvers": ["solvers", "models", "selection", "nystrom"],
    "python/grls/_solvers/covariance.py": ["models/test_prior.py", "models/test_prior_kernel.py"],
    "python/grls/_solvers/groups.py": ["models/test_group_effects.py", "selection/test_groups.py"],
    "python/grls/_solvers/joint_quantiles.py": ["models/test_losses.py"],
    "python/grls/_solvers/left_out.py": ["models/test_smooth_losses.py", "models/test_logistic_selection.py"],
    "python/grls/_solvers/matrix_free.py": ["models/test_matrix_free.py", "selection/test_by_gradients.py"],
    "python/grls/_solvers/multinomial.py": ["models/test_multinomial.py"],
    "python/grls/_solvers/origin.py": ["models/test_far_from_origin.py", "models/test_rank.py"],
    "python/grls/_solvers/posterior.py": ["models/test_posterior.py", "models/test_sample_y.py"],
    "python/grls/_solvers/rank.py": ["models/test_rank.py", "solvers", "models/test_feature_variance.py"],
    "python/grls/_solvers/bias_face.py": ["models/test_bias_face.py"],
    "python/grls/_solvers/bias_program.py": ["solvers/test_programs.py", "models/test_svm.py"],
    "python/grls/_solvers/osqp.py": [
        "solvers/test_programs.py",
        "models/test_svm.py",
        "models/test_losses.py",
    ],
    "python/grls/_solvers/osqp_program.py": [
        "solvers/test_programs.py",
        "models/test_svm.py",
        "models/test_losses.py",
    ],
    "python/grls/_solvers/memory.py": ["contract/test_resources.py", "contract/test_errors.py"],
    "python/grls/_solvers/topics.py": ["features/test_plsa.py"],
    "python/grls/cli": ["cli"],
    "python/grls/cli/formula_graphs.py": ["onnx/test_to_onnx.py", "cli"],
    "python/grls/dask.py": ["nystrom/test_dask.py"],
    "python/grls/features": ["features", "models/test_coefficients.py"],
    "python/grls/kernels/mapped.py": ["kernels/test_mapped.py", "selection/test_kernel_parameters.py"],
    "python/grls/kernels": ["kernels", "models/test_views.py", "selection/test_kernel_parameters.py"],
    # C++
    "cpp/base": ["solvers", "kernels", "models/test_least_squares.py"],
    "cpp/data": ["kernels", "models/test_views.py", "features"],
    "cpp/kernels": ["kernels", "models/test_gradient.py", "selection/test_kernel_parameters.py"],
    "cpp/matrices": ["solvers", "models", "selection"],
    "cpp/kernels/predict.cpp": ["kernels/test_kernels.py", "models/test_least_squares.py"],
    "cpp/matrices/conjugate_gradients.cpp": ["models/test_matrix_free.py", "models/test_prior.py"],
    "cpp/matrices/group_means.cpp": ["models/test_group_effects.py", "nystrom/test_groups.py"],
    "cpp/least_squares": ["solvers", "models/test_least_squares.py", "models", "selection"],
    "cpp/least_squares/gradient.cpp": ["selection/test_kernel_parameters.py", "models/test_gradient.py"],
    "cpp/least_squares/left_out.cpp": ["selection/test_groups.py", "models/test_cross_validation.py"],
    "cpp/least_squares/path.cpp": ["selection/test_regularization.py", "models/test_least_squares.py"],
    "cpp/least_squares/posterior.cpp": ["models/test_posterior.py", "models/test_sample_y.py"],
    "cpp/least_squares/reduction.cpp": ["selection/test_regularization.py", "models/test_least_squares.py"],
    "cpp/ridge": ["models/test_prior.py", "models/test_transfer.py", "models/test_prior_kernel.py"],
    "cpp/nystrom": ["nystrom", "models/test_matrix_free.py"],
    "cpp/nystrom/low_rank.cpp": ["models/test_matrix_free.py", "selection/test_by_gradients.py"],
    "cpp/nystrom/matrix_free.cpp": ["models/test_matrix_free.py", "selection/test_by_gradients.py"],
    "cpp/spectrum": ["models/test_decomposition.py", "models/test_mercer.py"],
    "cpp/plsa": ["features/test_plsa.py"],
    "cpp/svm": [
        "models/test_svm.py",
        "models/test_certificates.py",
        "models/test_losses.py",
        "models/test_hard_margin.py",
        "solvers/test_programs.py",
    ],
    "cpp/conformal": ["models/test_conformal.py"],
    "cpp/base/fallback.cpp": ["solvers/test_blas.py", "selection/test_regularization.py", "solvers"],
    "cpp/svm/separation.cpp": ["models/test_hard_margin.py", "models/test_svm.py"],
    "cpp/svm/piecewise.cpp": [
        "models/test_losses.py",
        "models/test_one_class.py",
        "solvers/test_programs.py",
    ],
    "cpp/base/vmath.cpp": ["kernels", "solvers", "models/test_matrix_free.py"],
    "cpp/base/blas.cpp": ["solvers", "contract/test_resources.py", "models/test_least_squares.py"],
    "cpp/bindings": ["contract/test_errors.py", "solvers", "kernels", "models", "nystrom"],
    "cpp/bindings/plsa.cpp": ["features/test_plsa.py"],
    "cpp/bindings/posterior.cpp": ["models/test_posterior.py", "models/test_sample_y.py"],
}


def tests_of(file):
    """The test files and folders for one source file, or None where a fault is no matter of numbers."""
    known = [prefix for prefix in TESTS_OF if file == prefix or file.startswith(prefix + "/")]
    return [f"tests/{name}" for name in TESTS_OF[max(known, key=len)]] if known else None


def nearest(file, most):
    """The test files for one source file as TESTS_OF has them, of a folder those that name it most first."""
    words = re.compile(r"\b(" + "|".join(map(re.escape, sorted(_names(file)))) + r")\b")
    stem = Path(file).stem.strip("_")

    def share(test):
        text = test.read_text(encoding="utf-8")
        return stem in test.stem, len(words.findall(text)) / len(text) ** 0.5

    tests = []
    for name in tests_of(file):
        path = ROOT / name
        found = sorted(path.glob("test_*.py"), key=share, reverse=True) if path.is_dir() else [path]
        tests += [test.relative_to(ROOT).as_posix() for test in found]
    return list(dict.fromkeys(tests))[:most]


def _names(file):
    """What a file defines that tests may speak of, and its own name."""
    stem = Path(file).stem.strip("_")
    if not file.endswith(".py"):
        return {stem}
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    kinds = ast.FunctionDef | ast.ClassDef
    return {stem} | {node.name for node in ast.walk(tree) if isinstance(node, kinds) and node.name[0] != "_"}

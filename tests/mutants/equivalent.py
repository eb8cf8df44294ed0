"""Faults that compute the same, or cost only time: looked at one by one, with the reason."""

import re

_EFFORT = (
    "_GRID|_CHUNK|_OSQP_ITERATIONS|_FEW_OF_ONE_PAIR|_ROWS|_ROWS_OF_CHOICE|MOST_POINTS|_MOST_POINTS|"
    "SCREENED|TUNED|LOOKED_AT|_LOOKED_AT|_MOST_STEPS|LEARNT_ON|ROWS|_LEAST_POOL|_LEVERAGE_ROWS|"
    "_FOLD_IN_STEPS|LOW_MODES|_FREQUENCIES|_PROBES|SAMPLE|_ROWS_TO_BEGIN|_NUMBERS|_SMALL|"
    "_USUAL_ITERATIONS|_AT_ONCE|_ITERATIONS|_EASY"
)

# Small numbers of other lines than these: where a grid ends, what a parameter may be.
_NO_LIMIT = r"^(?!.*(geomspace|minimum=|>= 1|(?i:smallest|least_shape)))"

# A pattern of the line with marks around what is changed, one of old -> new, and why no test should notice.
RULES = (
    (r"^_(SLICE|ROWS_AT_ONCE) = .*«", r"\d+ -> \d+", "how many rows are worked on at a time"),
    (r"@dataclass\(.*«True»", "True -> False", "keeps a value from being assigned to, which nothing does"),
    (r"\bdpi=«", r"\d+ -> \d+", "the resolution of a picture"),
    (r"\bshow_default=«", "True -> False", "words of --help"),
    (_NO_LIMIT, r"\d*\.?\d+e-(0?[6-9]|[1-9]\d) -> .*", "a bound on rounding errors, of three times as much"),
    (r"«\d+» \*.*np\.finfo\([\w.]+\)\.eps", r"\d+ -> \d+", "a bound on rounding errors, of little more"),
    (rf"^({_EFFORT}) = «", r"[\d_]{3,} -> \d+", "a limit of effort, of one more"),
)

# Whose small numbers are parts of what is computed.
_EXACT = ("cpp/base/vmath.cpp",)

# (file, the line with marks around what is changed, what it becomes): why no test can or should notice
EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "python/grls/_selection/estimation_error.py",
        'problem, targets, "reml", gammas, lambda _: np.zeros(«1»), per_output=False, counts=counts',
        "2",
    ): "the likelihood asks for no error of predictions",
    (
        "python/grls/nystrom_losses.py",
        "return «1.0» if isinstance(self.dispersion, str) else float(self.dispersion)",
        "3.0",
    ): "families without a dispersion do not read it, and the one with it is refused without a number",
    (
        "python/grls/mercer.py",
        "kernel = about_the_data(kernel, points, np.empty((n_samples, «0»)), free=False)",
        "1",
    ): "features that are not free are not looked at",
    (
        "python/grls/_solvers/osqp.py",
        "c, nu, program = problem.solve(everything, np.zeros(m), «0.0», _LOOSE, limit)",
        "1.0",
    ): "a start, from where programs follow until the gap is small enough",
    (
        "python/grls/_models/hard_margin.py",
        "lower = 0.5 / widest**2 if widest > 0 else «0.0»  # of all that separate the classes",
        "1.0",
    ): "a width of zero is a function of norm zero, whose gap is zero whatever the bound",
    (
        "python/grls/_solvers/bias_program.py",
        "largest = float(np.abs(g).max()) or «1.0»",
        "3.0",
    ): "the unit in which zeros are measured",
    (
        "python/grls/_models/smooth_machine.py",
        "if n_functions * float(m) ** 3 «<=» WORK_OF_SCORE:",
        "<",
    ): "which of two ways is cheaper, where both cost the same",
    (
        "python/grls/_solvers/groups.py",
        "if 1 - values[-1] «<=» max(tolerance, 1e-12):",
        "<",
    ): "a share that rounding leaves is not equal to its bound",
    (
        "python/grls/_nystrom/smooth.py",
        "units = «1» / np.sqrt(np.diagonal(totals.features)[kept])",
        "2",
    ): "a bound on rounding errors, a quarter of it; the directions have no length",
    (
        "python/grls/_models/smooth_regression.py",
        "_FIRST_SHAPE = «1.0»",
        "3.0",
    ): "a start, from where dispersion and model take turns until neither changes",
    (
        "python/grls/_selection/shifted_systems.py",
        "self._tail = max(left, 0.0) / self._rest if self._rest else «0.0»",
        "1.0",
    ): "what is compared with probes and with the trace alike: any value leaves no bias",
    (
        "python/grls/_solvers/osqp.py",
        "if not (np.all(np.isfinite(c)) «and» np.all(np.isfinite(beta))):",
        "or",
    ): "of coefficients that overflow the gap is infinite or no number, and either is an error",
    (
        "python/grls/one_class.py",
        'if is_plain and m «>» _FEW_ROWS and T.shape[1] == 1 and made.solver in ("auto", "native"):',
        ">=",
    ): "which of two starts is cheaper, where both cost the same",
    (
        "python/grls/one_class.py",
        "targets = np.zeros((checked.shape[0], «1»))",
        "2",
    ): "there are no targets, and nothing reads these",
    (
        "python/grls/one_class.py",
        "low = low «-» T @ nearest_combination(T, low)",
        "+",
    ): "a start, from where the solver goes on to the optimum",
    (
        "python/grls/one_class.py",
        "_MORE_DIGITS, _DOUBLE_PRECISION = «0.01», 5e-6  # of a second attempt: times `tol`, and at most",
        "0.03",
    ): "how much better a second attempt is told to be; what it reached is measured",
    (
        "python/grls/_models/samples.py",
        "if total is not None and np.abs(total).max(initial=«0») > _LARGEST_OFFSET:",
        "1",
    ): "one is below the bound as zero is",
    (
        "python/grls/_selection/kernel_choice.py",
        "if with_widths «<» _BETTER_ELSEWHERE * with_one:",
        "<=",
    ): "errors that rounding makes are not equal to their bound",
    (
        "python/grls/_models/family_loss.py",
        "return «4» * kernel_size(self.problem, self.s) * float(np.mean(curvatures) / self.s.sum())",
        "5",
    ): "where the walk along γ begins, from where it goes on to the smallest error",
    (
        "python/grls/_nystrom/files.py",
        "for batch in source.to_batches(**options, batch_readahead=«1», fragment_readahead=1):",
        "2",
    ): "how much is read ahead",
    (
        "python/grls/_solvers/bias_program.py",
        "if answer.gap «>» tol:",
        ">=",
    ): "a gap that rounding leaves is not equal to its bound",
    (
        "python/grls/_models/chosen_in_folds.py",
        "if np.isnan(values[machines.fold «>=» 0]).any():",
        ">",
    ): "rows that were not looked at are of every fold",
    (
        "python/grls/kernels/views.py",
        "inner = Look(V, look.fits, look.y, look.weights, look.refits, is_checked=«True», known=look.known)",
        "False",
    ): "numbers that are checked once more",
    (
        "python/grls/_nystrom/gradients.py",
        "return interruptible(len(L), cho_factor, LtL, lower=True, overwrite_a=«True», check_finite=False)",
        "False",
    ): "memory, of a copy",
    (
        "python/grls/_models/chosen_in_folds.py",
        "n_units = int(machines.together.max()) + «1»",
        "2",
    ): "how many rows are looked at, of one more unit",
    # C++
    (
        "cpp/svm/interior_point.cpp",
        "if (low && at.p[k] * own «<» 1e-2 * at.zp[k] && (!high || at.p[k] < at.q[k])) "
        "x[k] = pieces.lower[k];",
        "<=",
    ): "products that rounding makes are not equal to their bound",
    (
        "cpp/conformal/pinball_path.cpp",
        "residual_[i] = side_[i] * kTies * range * (1 «+» scattered(i));",
        "-",
    ): "ties are parted by whatever differs from row to row",
    (
        "cpp/svm/separation.cpp",
        "system.col(n).head(n) = part.col(r - «1»);",
        "2",
    ): "what is no better is not taken: the constant then counts a millionth, and not nothing",
    (
        "cpp/base/parallel.cpp",
        "std::vector<char> room(«8»);",
        "9",
    ): "compiled only where the sanitizers are to notice it",
    (
        "cpp/svm/working_set.cpp",
        "if (i == j «||» down_[static_cast<std::size_t>(j)] == -kNever) return steps;",
        "&&",
    ): "where a gain is left its partner is another and may move, but for rounding",
    (
        "cpp/ridge/ridge_cg.cpp",
        "if (!by_samples_ && span.Q.cols() «>» 0) {  // |P a|² = |a|² - |Qᵀa|²",
        ">=",
    ): "what no columns span is nothing",
    (
        "cpp/svm/decomposition.cpp",
        "if (up ? c_[i] < qp_.upper[i] «&&» rise(i) > up_from : c_[i] > qp_.lower[i] && fall(i) < down_from)",
        "||",
    ): "who is asked to join the working set: those that cannot move cost rounds",
    (
        "cpp/svm/decomposition.cpp",
        "if (up ? c_[i] < qp_.upper[i] && rise(i) > up_from : c_[i] > qp_.lower[i] «&&» fall(i) < down_from)",
        "||",
    ): "who is asked to join the working set: those that cannot move cost rounds",
    (
        "cpp/svm/separation.cpp",
        "for (Index k = «0»; k < limit; ++k) {",
        "1",
    ): "a limit of effort, of one less",
    (
        "cpp/svm/decomposition.cpp",
        "finish(m_ <= kFewSamples ? kMostMembers : «3» * qp_.U.cols() + 40, options_.tolerance, out.rounds);",
        "4",
    ): "how many members the active set may have before decomposition goes on",
    (
        "cpp/spectrum/spectrum.cpp",
        "if (full || last || basis.size() «<=» kCheap) {",
        "<",
    ): "how often Ritz values are looked at",
    (
        "cpp/matrices/triangle.cpp",
        "if (alignment «==» 64) small_ = true;",
        "!=",
    ): "memory is given back by one function whatever its alignment, but on Windows",
    (
        "cpp/base/blas.cpp",
        "if (control.set && control.outside != «1») control.set(1);",
        "2",
    ): "threads of the library beside ours cost time",
    (
        "cpp/base/blas.cpp",
        "if (control.set && control.outside != 1) control.set(«1»);",
        "2",
    ): "threads of the library beside ours cost time",
    (
        "cpp/svm/interior_point.cpp",
        "const double sigma = mu > 0 ? std::pow(reached / mu, 3) : «0»;",
        "1",
    ): "a share of a gap of zero",
}


def reason(file, marked, new):
    """Why a fault is no gap in the tests, or None; `marked` is its line with marks around the old."""
    old = re.split("[«»]", marked)[1]
    for line, changes, why in () if file in _EXACT else RULES:
        if re.search(line, marked) and re.fullmatch(changes, f"{old} -> {new}"):
            return why
    return EQUIVALENT.get((file, marked, new))

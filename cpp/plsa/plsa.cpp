#include "plsa/plsa.hpp"

#include <algorithm>
#include <limits>

#include "base/checkpoint.hpp"
#include "base/errors.hpp"
#include "base/vmath.hpp"

namespace grls {
namespace {

// Rows of zeros below make the columns whole vectors; they stay zero in every step.
Matrix<double> padded(const Matrix<double>& A) {
  const Index rows = (A.rows() + vmath::kLanes - 1) / vmath::kLanes * vmath::kLanes;
  Matrix<double> out = Matrix<double>::Zero(rows, A.cols());
  out.topRows(A.rows()) = A;
  return out;
}

// Runs of rows with about as many entries each: the tasks of a step. Results do not depend on them.
IndexList runs_of(const CsrRows& rows) {
  constexpr std::int64_t kEntries = 8192;
  IndexList ends{0};
  std::int64_t begin = 0;
  for (Index i = 0; i < rows.n; ++i) {
    if (rows.starts[i + 1] - begin < kEntries && i + 1 < rows.n) continue;
    ends.push_back(i + 1);
    begin = rows.starts[i + 1];
  }
  return ends;
}

// vmath::responsibilities, with a look in between whether to go on: a row may have any number of entries.
void responsibilities(const Checkpoint& checkpoint, const double* a, const Matrix<double>& B,
                      const CsrRows& rows, Index i, double* p, double* sums) {
  constexpr Index kWork = Index(1) << 24;
  const Index K = B.rows(), at_once = std::max<Index>(1024, kWork / K);
  const Index end = static_cast<Index>(rows.starts[i + 1]), begin = static_cast<Index>(rows.starts[i]);
  for (Index e = begin; e < end; e += at_once) {
    checkpoint.pass();
    vmath::responsibilities(a, B.data(), K, rows.columns + e, rows.values + e, std::min(at_once, end - e),
                            p + (e - begin), sums);
  }
}

// Calls body(row, scratch, checkpoint) for all rows; scratch has room for one number per entry of the row.
template <class Body>
void for_rows(const Context& context, const CsrRows& rows, const IndexList& ends, double work_per_entry,
              const Body& body) {
  const double work = work_per_entry * static_cast<double>(rows.starts[rows.n]);
  const int workers = workers_for(context, work);
  std::vector<std::vector<double>> scratch(workers);
  parallel_for(context, static_cast<Index>(ends.size()) - 1, workers, [&](Index run, const Worker& worker) {
    std::vector<double>& mine = scratch[worker.id()];
    for (Index i = ends[run]; i < ends[run + 1] && !worker.stopped(); ++i) {
      const std::size_t entries = rows.starts[i + 1] - rows.starts[i];
      if (mine.size() < entries) mine.resize(entries);
      body(i, mine.data(), Checkpoint(context, worker));
    }
  });
}

// Steps are longer than those of expectation maximisation by this power of its factors, which about halves
// their number. Where one lowers the likelihood, the plain step is taken instead, and the power comes nearer
// to 1.
constexpr double kRelaxation = 1.8;
double less_relaxed(double relaxation) { return 1 + (relaxation - 1) / 2; }

void check_topics(const Matrix<double>& topics, Index words) {
  require(topics.rows() > 0 && topics.cols() == words, "the topics have shape (", topics.rows(), ", ",
          topics.cols(), "), expected (n_topics, ", words, ")");
  require(topics.allFinite() && (topics.array() >= 0).all(), "the topics must be finite and not negative");
}

}  // namespace

Plsa fit_plsa(const Context& context, const CsrRows& documents, const CsrRows& words,
              const Matrix<double>& topics, Index max_iterations, double tolerance,
              const PlsaReport& report) {
  check_topics(topics, documents.d);
  require_count(max_iterations, "iterations");
  require(words.n == documents.d && words.d == documents.n &&
              words.starts[words.n] == documents.starts[documents.n],
          "the counts by word are not the transpose of the counts by document");
  const Index n_topics = topics.rows();
  Matrix<double> phi = padded(topics);
  Matrix<double> theta =
      padded(Matrix<double>::Constant(n_topics, documents.n, 1.0 / static_cast<double>(n_topics)));
  const Index K = phi.rows();
  const double work = 8.0 * static_cast<double>(K);
  const IndexList document_runs = runs_of(documents), word_runs = runs_of(words);
  Vector<double> log_likelihoods(documents.n);
  const double total =
      Eigen::Map<const Vector<double>>(documents.values, documents.starts[documents.n]).sum();

  Matrix<double> theta_before;
  const auto update_mixtures = [&](double power) {  // returns the log-likelihood before the update
    theta.swap(theta_before);
    theta.resizeLike(theta_before);
    for_rows(context, documents, document_runs, work, [&](Index i, double* p, const Checkpoint& checkpoint) {
      const std::int64_t begin = documents.starts[i], n = documents.starts[i + 1] - begin;
      Vector<double> factors = Vector<double>::Zero(K);
      responsibilities(checkpoint, theta_before.col(i).data(), phi, documents, i, p, factors.data());
      log_likelihoods[i] = vmath::weighted_log_sum(p, documents.values + begin, n);
      theta.col(i) = theta_before.col(i);
      vmath::multiply_power(theta.col(i).data(), factors.data(), K, power);
      const double sum = theta.col(i).sum();
      theta.col(i) = sum > 0 ? Vector<double>(theta.col(i) / sum) : Vector<double>(theta_before.col(i));
    });
    return log_likelihoods.sum();
  };
  const auto update_topics = [&](double power) {
    for_rows(context, words, word_runs, work, [&](Index j, double* p, const Checkpoint& checkpoint) {
      Vector<double> factors = Vector<double>::Zero(K);
      responsibilities(checkpoint, phi.col(j).data(), theta, words, j, p, factors.data());
      vmath::multiply_power(phi.col(j).data(), factors.data(), K, power);
    });
    const Vector<double> sums = phi.rowwise().sum();
    for (Index k = 0; k < n_topics; ++k)
      if (sums[k] > 0) phi.row(k) /= sums[k];
  };

  Plsa out;
  double relaxation = kRelaxation;
  Matrix<double> theta_good, phi_good;
  for (Index iteration = 0;; ++iteration) {
    double log_likelihood = update_mixtures(relaxation);
    if (iteration > 0 && log_likelihood < out.log_likelihood.back()) {
      relaxation = less_relaxed(relaxation);
      theta = theta_good;
      phi = phi_good;
      update_mixtures(1);
      update_topics(1);
      log_likelihood = update_mixtures(relaxation);
    }
    out.log_likelihood.push_back(log_likelihood);
    if (report) report(iteration, log_likelihood);
    if (iteration > 0 && !(log_likelihood - out.log_likelihood[iteration - 1] > tolerance * total))
      out.status = Status::converged;
    if (out.status == Status::converged || iteration == max_iterations) break;
    theta_good.swap(theta_before);
    phi_good = phi;
    update_topics(relaxation);
  }
  out.topics = phi.topRows(n_topics);
  out.mixtures = theta.topRows(n_topics);
  return out;
}

FoldedIn fold_in(const Context& context, const CsrRows& documents, const Matrix<double>& topics,
                 const Vector<double>& start, Index max_iterations, double tolerance) {
  check_topics(topics, documents.d);
  require_count(max_iterations, "iterations");
  require(start.size() == topics.rows(), "the mixture to start from has ", start.size(),
          " numbers, expected ", topics.rows());
  require(start.allFinite() && (start.array() >= 0).all(),
          "the mixture to start from must be finite and not negative");
  const Matrix<double> phi = padded(topics), first = padded(start);
  const Index K = phi.rows();
  FoldedIn out{Matrix<double>(topics.rows(), documents.n), Vector<double>(documents.n),
               Vector<double>(documents.n), 0, Status::iteration_limit};
  Vector<double> gaps(documents.n);
  for_rows(context, documents, runs_of(documents), 100.0 * static_cast<double>(K),
           [&](Index i, double* p, const Checkpoint& checkpoint) {
             const std::int64_t begin = documents.starts[i], n = documents.starts[i + 1] - begin;
             const double* counts = documents.values + begin;
             Vector<double> theta = first, plain, gradient(K);
             double known = 0, gap = 0, log_likelihood = -std::numeric_limits<double>::infinity();
             double relaxation = kRelaxation;
             for (Index iteration = 0;; ++iteration) {
               gradient.setZero();
               responsibilities(checkpoint, theta.data(), phi, documents, i, p, gradient.data());
               known = theta.dot(gradient);  // the counts of words with p > 0
               if (!(known > 0)) break;
               gradient /= known;
               // The log-likelihood per count is concave with this gradient, so that no mixture is better by
               // more.
               gap = gradient.head(topics.rows()).maxCoeff() - 1;
               if (gap <= tolerance || iteration == max_iterations) break;
               const double now = vmath::weighted_log_sum(p, counts, n);
               if (now < log_likelihood) {
                 relaxation = less_relaxed(relaxation);
                 log_likelihood =
                     -std::numeric_limits<double>::infinity();  // of a plain step: larger but for rounding
                 theta = plain;
                 continue;
               }
               log_likelihood = now;
               plain = theta.cwiseProduct(gradient);
               vmath::multiply_power(theta.data(), gradient.data(), K, relaxation);
               theta /= theta.sum();
             }
             out.mixtures.col(i) = theta.head(topics.rows());
             out.log_likelihood[i] = vmath::weighted_log_sum(p, counts, n);
             out.known_counts[i] = known;
             gaps[i] = gap;
           });
  out.gap = documents.n > 0 ? gaps.maxCoeff() : 0;
  if (out.gap <= tolerance) out.status = Status::converged;
  return out;
}

}  // namespace grls

// Probabilistic latent semantic analysis: P(word | document) = Σ_z P(z | document) P(word | z), fitted by
// expectation maximisation, which is the factorisation of the counts under the Kullback-Leibler divergence.
//   counts   (n, d) documents by words, finite and >= 0        K topics
//   mixtures (K, n) P(z | document), columns sum to one        topics (K, d) P(word | z), rows sum to one
// A document with none of the words of the topics keeps the mixture it started with.
#pragma once

#include <functional>
#include <vector>

#include "base/parallel.hpp"
#include "base/status.hpp"
#include "data/points.hpp"

namespace grls {

struct Plsa {
  Matrix<double> topics, mixtures;
  std::vector<double> log_likelihood;  // Σ count log P(word | document) after 0, 1, … updates of the topics
  Status status = Status::iteration_limit;
};
// Called on the calling thread after each update; it may throw to stop.
using PlsaReport = std::function<void(Index iteration, double log_likelihood)>;

// From the given topics and even mixtures, mixtures and topics in turn, until the log-likelihood per count
// rises by no more than `tolerance`, or the topics were updated `max_iterations` times.
// words: the transpose of documents.
Plsa fit_plsa(const Context& context, const CsrRows& documents, const CsrRows& words,
              const Matrix<double>& topics, Index max_iterations, double tolerance, const PlsaReport& report);

struct FoldedIn {
  Matrix<double> mixtures;
  Vector<double> log_likelihood;  // (n) of each document, words that no topic has left out
  Vector<double> known_counts;    // (n) the counts of the other words
  double gap;  // how far per count the log-likelihood of the worst document may be from its maximum
  Status status = Status::iteration_limit;  // of the worst document
};

// The likeliest mixtures of documents under fixed topics, each from `start` (K) until its log-likelihood per
// count is at most `tolerance` below the maximum, or for `max_iterations` steps.
FoldedIn fold_in(const Context& context, const CsrRows& documents, const Matrix<double>& topics,
                 const Vector<double>& start, Index max_iterations, double tolerance);

}  // namespace grls

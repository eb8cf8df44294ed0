// The answers of every stage that is timed, on a small problem, against their definitions.
#pragma once

namespace grls::bench {

// Throws where a stage is wrong.
void check_answers();

}  // namespace grls::bench

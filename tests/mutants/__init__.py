"""Do the tests notice? Faults in the sources, one at a time, each tried against the tests of its module.

    python -m tests.mutants --count 100 --seed 1              # faults in Python
    python -m tests.mutants --count 30 --seed 1 --cpp         # faults in C++, compiled one by one
    python -m tests.mutants --report mutants.jsonl            # what was killed, what survived

Nothing in the tree is touched: a fault lives in a copy of the package. Results go to a file of JSON lines,
and a run goes on where the last one stopped.
"""

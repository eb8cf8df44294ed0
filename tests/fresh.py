"""Programs in processes that have imported nothing of grls beyond `import grls`, as users' are."""

import doctest
import json
import re
import subprocess
import sys

from repository import TESTS

# Children of one process are as new as processes of their own, and need not import NumPy again.
_RUNNER = """
import json, os, sys, traceback, warnings
import grls
import pandas, scipy.sparse, sklearn.pipeline  # nothing of grls, and slow to import in each child
said = sys.stdout

def run(name, program):
    sys.stdout = open(os.devnull, "w")
    warnings.simplefilter("error")
    try:
        exec(compile(program, name, "exec"), {"__name__": "__main__"})
    except BaseException:
        print(json.dumps([name, traceback.format_exc()]), file=said, flush=True)

programs = json.load(sys.stdin)
for name, program in programs.items():
    if len(programs) == 1:
        run(name, program)
    elif (child := os.fork()) == 0:
        run(name, program)
        os._exit(0)
    elif os.waitpid(child, 0)[1]:
        print(json.dumps([name, "the process died"]))
"""


def failures(programs):
    """Return what the programs (name -> source) that failed said, by name; warnings are failures."""
    together = [programs] if sys.platform == "linux" else [{name: programs[name]} for name in programs]
    found = {}
    for some in together:
        done = subprocess.run(
            [sys.executable, "-c", _RUNNER],
            input=json.dumps(some),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found |= dict(map(json.loads, done.stdout.splitlines()))
    return found


def page_program(path):
    """Return a program that runs the blocks of Python in a page."""
    return f"import sys; sys.path.insert(0, {str(TESTS)!r}); import fresh; fresh.run_page({str(path)!r})"


def run_page(path):
    """Run the blocks of Python in a page, each after those before; return the names that they leave."""
    with open(path, encoding="utf-8") as file:
        blocks = re.findall(r"^```python\n(.*?)^```", file.read(), flags=re.DOTALL | re.MULTILINE)
    names = {"__name__": "__main__"}
    for number, block in enumerate(blocks):
        if ">>>" in block:
            parsed = doctest.DocTestParser().get_doctest(block, names, f"block {number}", path, 0)
            runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
            assert runner.run(parsed, out=sys.stderr.write, clear_globs=False).failed == 0
            names.update(parsed.globs)
        else:
            exec(block, names)
    assert blocks or "index" in path
    return names

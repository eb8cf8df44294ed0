"""Cases run in forked children, so that a crash or a hang is seen, told and survived.

A case is a function of a seed. A child runs many of them in a row and notes in shared memory where it is;
when it dies or stands still, the case it was at is the finding, and another child goes on behind it.
"""

import mmap
import os
import resource
import signal
import sys
import time
import traceback
from dataclasses import dataclass, field

_HANGS = 20.0  # seconds of the processor, or ten times as long on the clock
_MEMORY = 6 * 2**30  # of address space: what a case takes too much of is refused to it, not to the machine


@dataclass
class Finding:
    """What went wrong with a seed."""

    seed: int
    what: str  # "signal 11", "hang", or the error


@dataclass
class Report:
    """How many cases were run, how they ended, and what was found."""

    cases: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self):
        ends = ", ".join(f"{count} {name}" for name, count in sorted(self.outcomes.items()))
        return f"{self.cases} cases in {self.seconds:.0f} s ({ends}); {len(self.findings)} findings"


def _limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _child(run, seeds, note, results):
    """Run the cases; one line of text a case."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if "san.so" not in os.environ.get("LD_PRELOAD", ""):  # sanitizers reserve terabytes
        _limit_memory()
    with os.fdopen(results, "w", buffering=1) as out:
        for number, seed in enumerate(seeds):
            note[:8] = number.to_bytes(8, "little")
            try:
                outcome = run(seed)
            except BaseException as error:
                where = "".join(traceback.format_exception(error)[-6:])
                outcome = "finding " + repr(f"{type(error).__name__}: {error}\n{where}")
            out.write(f"{outcome}\n")
    sys.stdout.flush()
    os._exit(0)


def _cpu_seconds(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _watch(pid, note, reader):
    """Wait for a child. Returns what it wrote, and how it failed or None."""
    os.set_blocking(reader, False)
    written, last, since, clock = b"", None, 0.0, time.monotonic()
    while True:
        try:
            while chunk := os.read(reader, 1 << 16):
                written += chunk
        except BlockingIOError:
            pass
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            while chunk := os.read(reader, 1 << 16):
                written += chunk
            if os.WIFSIGNALED(status):
                return written, f"signal {os.WTERMSIG(status)} ({signal.strsignal(os.WTERMSIG(status))})"
            return written, None if os.WEXITSTATUS(status) == 0 else f"exit {os.WEXITSTATUS(status)}"
        at, used = bytes(note[:8]), _cpu_seconds(pid)
        if at != last:
            last, since, clock = at, used, time.monotonic()
        elif used - since > _HANGS or time.monotonic() - clock > 10 * _HANGS:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return written, "hang"
        time.sleep(0.002 if time.monotonic() - clock < 0.2 else 0.05)


def run_forked(run, seeds, *, batch=500, report=None, tell=None):
    """Run all cases in children; `run(seed)` returns a word for how a case ended, or raises: a finding."""
    report = Report() if report is None else report
    start, seeds = time.monotonic(), list(seeds)
    note = mmap.mmap(-1, 8)
    at = 0
    while at < len(seeds):
        mine = seeds[at : at + batch]
        note[:8] = bytes(8)
        reader, writer = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            _child(run, mine, note, writer)
        os.close(writer)
        written, failure = _watch(pid, note, reader)
        os.close(reader)
        lines = written.decode(errors="replace").splitlines()
        for seed, line in zip(mine, lines, strict=False):
            if line.startswith("finding "):
                report.findings.append(Finding(seed, line[8:]))
            else:
                report.outcomes[line] = report.outcomes.get(line, 0) + 1
        ran = len(mine)
        if failure is not None:
            number = int.from_bytes(note[:8], "little")
            report.findings.append(Finding(mine[number], failure))
            ran = number + 1
        report.cases += ran
        at += ran
        if tell is not None:
            tell(report)
    report.seconds += time.monotonic() - start
    return report


def fails(run, seed):
    """Whether one case fails, in a child of its own."""
    return bool(run_forked(run, [seed]).findings)


def run_here(run, seeds):
    """Run all cases in this process, as sanitizers want it."""
    report, start = Report(), time.monotonic()
    for seed in seeds:
        try:
            outcome = run(seed)
            report.outcomes[outcome] = report.outcomes.get(outcome, 0) + 1
        except Exception as error:
            report.findings.append(Finding(seed, "".join(traceback.format_exception(error)[-6:])))
        report.cases += 1
    report.seconds = time.monotonic() - start
    return report

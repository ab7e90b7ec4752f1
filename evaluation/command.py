# SPDX-License-Identifier: Apache-2.0
"""The two commands: their options and output."""

import argparse
import difflib
import os
import signal
import sys
import textwrap
from pathlib import Path

from . import benchmarks, contenders, figures, machine, results, running, simulated, tables
from .failure import STATUS, Failure
from .programs import Broken, Programs
from .samples import Samples
from .simulated import running as simulating

SOME_FAILED = 1
INTERRUPTED = 130


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Failure(f"{message}; see '{self.prog} --help'")


def number(kind, least, most, what):
    def convert(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is not {what} from {least} to {most}")
        return value

    return convert


def parser():
    top = Parser(prog="readmost")
    commands = top.add_subparsers(dest="command", required=True, parser_class=Parser)

    def command(name, summary, description, epilog):
        return commands.add_parser(
            name, help=summary, description=textwrap.dedent(description),
            epilog=textwrap.dedent(epilog),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        ).add_argument

    option = command(
        "bench",
        "repeat the papers' experiments on this machine",
        """\
        Repeat the experiments of the papers on this machine.

        NAME is a figure (bravo-4a), a benchmark (rwbench_locks), a paper (fcp, bravo, rcu, own),
        operations (of locks and RCU beside those of other libraries), simulated (the papers'
        figures on simulated machines of up to 72 CPUs), or all. The contenders take turns, with a
        process for each turn. Results are added to those in FILE after each benchmark, so that an
        interruption loses little. Let nothing else run meanwhile.""",
        """\
        Examples:
          readmost bench --list
          readmost bench all && readmost report out.html
          readmost bench bravo-4f --locks prwlock pthread --runs 9
          readmost bench operations --tables --output operations.json
          readmost bench simulated                            on machines that you do not have
          readmost bench all --quick --output quick.json      does everything work?

        Exit status: 0 when everything was measured, 1 when a contender failed, 130 when
        interrupted (the results so far are kept), 125 when it could not begin.""",
    )
    option("names", nargs="*", metavar="NAME", help="what to measure")
    option("--list", action="store_true", help="list the figures and benchmarks with their times")
    option("--quick", action="store_true",
           help="one short turn: shows that everything works; the figures mean little")
    option("--tables", action="store_true",
           help="print the figures of each benchmark as tables, and where Readmost is behind")
    option("--runs", metavar="N", type=number(int, 1, 1000, "a whole number"), default=0,
           help="turns of each contender (default: 1 to 5, by benchmark)")
    option("--seconds", metavar="S", type=number(float, 0.001, 3600, "a number"), default=0,
           help="length of each point, for benchmarks that have one")
    option("--threads", metavar="N", type=number(int, 1, 1024, "a whole number"), nargs="+",
           default=(), help="numbers of threads, for benchmarks that sweep them")
    option("--locks", metavar="NAME", nargs="+", default=(), help="only these contenders")
    option("--output", metavar="FILE", default=results.DEFAULT_FILE,
           help=f"file to add the results to (default: {results.DEFAULT_FILE})")
    option("--programs", metavar="DIR", default=os.environ.get("READMOST_BENCH_PROGRAMS"),
           help="folder of the benchmark programs (default: that of this command)")

    option = command(
        "report",
        "show the results, figure by figure, as one HTML file",
        """\
        Write the results as one self-contained HTML file: the result, with the worst and the best
        of each program and figure; every figure of the papers that was measured here, with its
        claim and whether that holds; and the papers' figures on simulated machines beside what the
        papers print.""",
        """\
        Examples:
          readmost report out.html
          readmost report --markdown docs/results.md
          readmost report --plot docs/generated/main-result.svg""",
    )
    option("html", nargs="?", metavar="OUT.html", help="the file to write")
    option("--results", metavar="FILE", default=results.DEFAULT_FILE,
           help=f"file that 'readmost bench' wrote (default: {results.DEFAULT_FILE})")
    option("--simulated", metavar="FILE",
           help="take the simulated figures from this file of results instead")
    option("--kernel", metavar="FILE",
           help="show what 'make kernel-check' counted beside the figures of locks inside the kernel;"
           " it writes out/kernel-check/counts.json")
    option("--markdown", metavar="FILE", help="write the main tables as Markdown")
    option("--simulated-markdown", metavar="FILE",
           help="write the verdicts on the simulated figures as Markdown")
    option("--plot", metavar="FILE.svg",
           help="write the main result as one plot: std::shared_mutex with Readmost preloaded")
    return top


# --- bench ---


def chosen_figures(names):
    """The figures of these names, in the order of the report: measured ones, and simulated ones."""
    wanted, simulate = [], []
    for name in names:
        found, found_to_simulate = figures.named(name), simulated.named(name)
        if not found and not found_to_simulate:
            near = difflib.get_close_matches(name, [*figures.names(), *simulated.names()], 1)
            hint = f"did you mean '{near[0]}'? " if near else ""
            raise Failure(
                f"unknown figure or benchmark '{name}'; {hint}'readmost bench --list' lists them"
            )
        wanted += found
        simulate += found_to_simulate
    return (
        [figure for figure in figures.MEASURED if figure in wanted],
        [figure for figure in simulated.ALL if figure in simulate and not figure.why],
    )


def duration(seconds):
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min"


def benchmarks_of(chosen):
    wanted = {name for figure in chosen for name in figure.benchmarks}
    return [one for one in benchmarks.DECLARED if one.name in wanted]


def expected_contenders(benchmark, asked):
    """The estimated number of contenders, without asking the programs."""
    known = len(benchmark.contenders) or benchmark.all
    return min(known, len(asked.locks)) if asked.locks else known


def print_list(asked):
    for figure in figures.MEASURED:
        print(
            f"{figure.id:16} {figure.source if figure.label else 'own':18} {figure.title}"
            f"  [{', '.join(figure.benchmarks)}]"
        )
    print("\nBenchmarks, and how long they take:")
    total = 0
    for one in benchmarks.DECLARED:
        seconds = one.turn_seconds(asked) * one.turns_for(asked) * expected_contenders(one, asked)
        total += seconds
        print(f"{one.name:28} {duration(seconds):>8}   {one.turns_for(asked)} turns")
    print("\nSimulated figures, and how long they take:")
    for figure in simulated.ALL:
        if not figure.why:
            seconds = simulating.seconds(figure, asked)
            total += seconds
            print(f"{figure.name:28} {duration(seconds):>8}   {figure.title}, {figure.machine}")
    print(f"\n{'all':28} {duration(total):>8}")


def checked_programs(folder, is_measured):
    if not folder:
        raise Failure("the folder of the benchmark programs is unknown; name it with --programs")
    if is_measured and not any((Path(folder) / one.program).is_file() for one in benchmarks.DECLARED):
        raise Failure(
            f"there are no benchmarks in '{folder}'; 'make bench' in the source tree builds them;"
            " then name their folder with --programs, or use the command beside them"
        )
    return folder


def contenders_of(benchmark, programs):
    try:
        return programs.contenders(benchmark)
    except Broken as problem:
        raise Failure(f"{problem}; 'make bench' in the source tree builds it anew") from None


def check_locks(asked, there):
    """`there` has the benchmarks with the contenders of their programs."""
    without_choice = benchmarks.Asked()
    known = {
        contenders.canonical(name)
        for one, has in there
        for name in running.chosen_contenders(one, without_choice, has)[0]
    }
    for name in asked.locks:
        if contenders.canonical(name) not in known:
            raise Failure(
                f"--locks: unknown contender '{name}'; choose one of {', '.join(sorted(known))}"
            )


def build_facts():
    told = {
        "version": os.environ.get("READMOST_BENCH_VERSION", "unknown"),
        "compiler": os.environ.get("READMOST_BENCH_COMPILER"),
        "type": os.environ.get("READMOST_BENCH_BUILD_TYPE"),
        "commit": machine.commit_of(Path(__file__).resolve().parent),
    }
    return {name: value for name, value in told.items() if value}


def bench(options):
    asked = benchmarks.Asked(
        options.quick, options.runs, options.seconds, tuple(options.threads), tuple(options.locks)
    )
    if options.list:
        print_list(asked)
        return 0
    if not options.names:
        raise Failure(
            "name what to measure: a figure, a benchmark, a paper, operations, or all;"
            " 'readmost bench --list' lists them"
        )
    chosen, to_simulate = chosen_figures(options.names)
    if asked.locks:
        if not chosen:
            raise Failure("--locks: the simulated figures have their own locks; leave it out")
        to_simulate = []
    folder = checked_programs(options.programs, bool(chosen))
    results.check_writable(options.output)
    found = results.load_to_add(options.output)

    programs = Programs(folder)
    wanted = benchmarks_of(chosen)
    missing = [one.name for one in wanted if not programs.has(one)]
    there = [(one, contenders_of(one, programs)) for one in wanted if programs.has(one)]
    if missing and not there:
        raise Failure(
            f"{', '.join(missing)}: not built in '{folder}'; 'make bench' in the source tree builds it"
        )
    check_locks(asked, there)
    not_built = {simulating.missing_program(figure, folder) for figure in to_simulate} - {None}
    if not_built and not chosen:
        raise Failure(
            f"{', '.join(sorted(not_built))}: not built in '{folder}'; 'make test' in the source tree"
            " builds it"
        )
    to_simulate = [one for one in to_simulate if not simulating.missing_program(one, folder)]
    plan, seconds = [], sum(simulating.seconds(figure, asked) for figure in to_simulate)
    for one, has in there:
        takes_part, left_out = running.chosen_contenders(one, asked, has)
        if takes_part:
            plan.append((one, takes_part, left_out))
            seconds += one.turn_seconds(asked) * one.turns_for(asked) * len(takes_part)

    progress = running.Progress(seconds)
    programs.tick = progress.tick
    what = f"{machine.count(len(plan), 'benchmark')} for {machine.count(len(chosen), 'figure')}"
    if to_simulate:
        one = f"{machine.count(len(to_simulate), 'simulated figure')}"
        what = f"{what}, {one}" if plan else one
    progress.say(
        f"{machine.sentence(found['machine'])}: {what}, about {duration(seconds)}."
        " Let nothing else run meanwhile."
    )
    if missing:
        progress.say(
            f"Not built and left out: {', '.join(missing)}; 'make bench' in the source tree builds"
            " them."
        )
    if not_built:
        progress.say(
            f"Not built, so nothing is simulated: {', '.join(sorted(not_built))}; 'make test' in the"
            " source tree builds it."
        )
    failures, build, measured = 0, build_facts(), []
    if options.tables and plan:
        print(tables.wrapped(tables.HEAD) + "\n")
    try:
        for one, takes_part, left_out in plan:
            run = running.Run(one, asked, programs, build, takes_part, left_out)
            try:
                run.take_turns(progress)
            finally:
                new = run.result()
                if running.is_worth_keeping(new, found["benchmarks"].get(one.name)):
                    found["benchmarks"][one.name] = new
                    results.save(options.output, found)
            for failure in new["failures"]:
                failures += 1
                progress.say(f"{one.name}: {failure['contender']} failed: {failure['reason']}")
            if options.tables:
                samples = Samples(new["rows"])
                progress.table(tables.benchmark_text(samples, one.reference))
                measured.append(samples)
            how_many = machine.count(len(takes_part), "contender")
            turns = machine.count(new["turns"], "turn")
            progress.say(f"{one.name}: {how_many}, {turns} in {duration(new['took_seconds'])}")
        for figure in to_simulate:
            failures += simulate(figure, asked, programs, build, found, options.output, progress)
    finally:
        progress.close()
    if options.tables and plan:
        print(tables.verdict(measured))
    where = "" if options.output == results.DEFAULT_FILE else f" --results {options.output}"
    print(f"Results: {options.output}. Next: readmost report out.html{where}")
    return SOME_FAILED if failures else 0


def simulate(figure, asked, programs, build, found, file, progress):
    """Adds the simulated figure to the results; returns the number of failures."""
    run = simulating.Run(figure, asked, programs, build)
    run.simulate(progress)
    new = run.result()
    found.setdefault("simulated", {})[figure.id] = new
    results.save(file, found)
    for failure in new["failures"]:
        progress.say(f"{figure.name}: {failure['contender']} failed: {failure['reason']}")
    seeds = machine.count(new["seeds"], "seed")
    progress.say(f"{figure.name}: {figure.machine}, {seeds} in {duration(new['took_seconds'])}")
    return len(new["failures"])


# --- report ---


def report(options):
    from . import kernel, markdown, report as page  # need jinja2, unlike bench
    from .simulated import markdown as simulated_markdown

    makers = {
        options.html: page.html,
        options.markdown: markdown.text,
        options.simulated_markdown: simulated_markdown.text,
        options.plot: page.main_result_svg,
    }
    wanted = [(path, make) for path, make in makers.items() if path]
    if not wanted:
        raise Failure(
            "name a file to write, as in 'readmost report out.html', --markdown FILE, --simulated-markdown FILE or"
            " --plot FILE"
        )
    found = results.load(options.results)
    if options.simulated:
        found["simulated"] = results.load(options.simulated).get("simulated", {})
    if options.kernel:
        found["kernel"] = kernel.load(options.kernel)
    for path, make in wanted:
        results.write(path, make(found))
        print(path)
    return 0


def main(words):
    signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    name = " ".join(["readmost", *words[:1]])
    try:
        options = parser().parse_args(words)
        status = {"bench": bench, "report": report}[options.command](options)
        sys.stdout.flush()
        return status
    except Failure as problem:
        print(f"{name}: {problem}", file=sys.stderr)
        return STATUS
    except BrokenPipeError:
        # Nobody reads the rest. Python would complain once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print(f"{name}: interrupted; the results so far are kept", file=sys.stderr)
        return INTERRUPTED

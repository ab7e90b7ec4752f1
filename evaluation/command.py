"""The two commands: their options, and what they print."""

import argparse
import difflib
import os
import signal
import sys
import textwrap
from pathlib import Path

from . import benchmarks, contenders, figures, machine, results
from .failure import STATUS, Failure

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

    bench = commands.add_parser(
        "bench",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        help="measure the papers' figures on this machine",
        description=textwrap.dedent("""\
            Measure the figures and tables of the papers on this machine.

            NAME is a figure (bravo-4a), a benchmark (rwbench_locks), a paper (fcp, bravo, rcu, own),
            or all. The contenders take turns, one process each; results are added to what FILE holds
            already, after each benchmark, so that an interruption loses little. Let nothing else run
            meanwhile."""),
        epilog=textwrap.dedent("""\
            Examples:
              readmost bench --list
              readmost bench all && readmost report out.html
              readmost bench bravo-4f --locks prwlock pthread --runs 9
              readmost bench all --quick --output quick.json      does everything work?

            Exit status: 0 when everything was measured, 1 when a contender failed, 130 when
            interrupted (what was measured is kept), 125 when it could not begin."""),
    )
    bench.add_argument("names", nargs="*", metavar="NAME", help="what to measure")
    bench.add_argument(
        "--list", action="store_true", help="say what there is and how long it takes"
    )
    bench.add_argument(
        "--quick",
        action="store_true",
        help="one short turn: shows that everything works, measures little",
    )
    bench.add_argument(
        "--runs",
        type=number(int, 1, 1000, "a whole number"),
        default=0,
        metavar="N",
        help="turns of each contender (without it, by benchmark: 3 to 5)",
    )
    bench.add_argument(
        "--seconds",
        type=number(float, 0.001, 3600, "a number"),
        default=0,
        metavar="S",
        help="length of each point, where a benchmark has one",
    )
    bench.add_argument(
        "--threads",
        type=number(int, 1, 1024, "a whole number"),
        nargs="+",
        default=(),
        metavar="N",
        help="how many threads, where a benchmark sweeps them",
    )
    bench.add_argument(
        "--locks", nargs="+", default=(), metavar="NAME", help="only these contenders"
    )
    bench.add_argument(
        "--output",
        default=results.DEFAULT_FILE,
        metavar="FILE",
        help=f"results, added to what is there (default: {results.DEFAULT_FILE})",
    )
    bench.add_argument(
        "--programs",
        metavar="DIR",
        default=os.environ.get("READMOST_BENCH_PROGRAMS"),
        help="where the benchmarks' programs are (default: beside this command)",
    )

    report = commands.add_parser(
        "report",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        help="show what was measured, figure by figure, as one HTML file",
        description=textwrap.dedent("""\
            Write results as one HTML file that needs nothing else: what this machine is, who won, and
            every figure of the papers with its claim, what was measured here, and whether the claim
            holds."""),
        epilog=textwrap.dedent("""\
            Examples:
              readmost report out.html
              readmost report --markdown docs/results.md"""),
    )
    report.add_argument("html", nargs="?", metavar="OUT.html", help="the file to write")
    report.add_argument(
        "--results",
        default=results.DEFAULT_FILE,
        metavar="FILE",
        help=f"what 'readmost bench' wrote (default: {results.DEFAULT_FILE})",
    )
    report.add_argument("--markdown", metavar="FILE", help="write the main tables as Markdown")
    return top


# --- bench ---


def chosen_figures(names):
    """The figures of these names, in the order of the report."""
    wanted = []
    for name in names:
        found = figures.named(name)
        if not found:
            known = figures.names()
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean '{near[0]}'? " if near else ""
            raise Failure(
                f"there is nothing to measure by the name '{name}'; {hint}"
                "'readmost bench --list' shows what there is"
            )
        wanted += found
    return [figure for figure in figures.MEASURED if figure in wanted]


def duration(seconds):
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min"


def benchmark_names(chosen):
    wanted = {name for figure in chosen for name in figure.benchmarks}
    return [one for one in benchmarks.DECLARED if one.name in wanted]


def expected_contenders(benchmark, asked):
    """Before the programs are asked: how many there will be, about."""
    known = len(benchmark.contenders) or benchmark.all
    return min(known, len(asked.locks)) if asked.locks else known


def print_list(asked):
    for figure in figures.MEASURED:
        print(
            f"{figure.id:16} {figure.source if figure.label else 'own':18} {figure.title} "
            f" [{', '.join(figure.benchmarks)}]"
        )
    print("\nBenchmarks, and how long they take:")
    total = 0
    for one in benchmarks.DECLARED:
        seconds = one.turn_seconds(asked) * one.turns_for(asked) * expected_contenders(one, asked)
        total += seconds
        print(f"{one.name:28} {duration(seconds):>8}   {one.turns_for(asked)} turns")
    print(f"{'all':28} {duration(total):>8}")


def checked_programs(folder):
    if not folder:
        raise Failure("which programs to start is not known; name their folder with --programs")
    if not any((Path(folder) / one.runs).is_file() for one in benchmarks.DECLARED):
        raise Failure(
            f"there are no benchmarks in '{folder}'; 'make bench' in the source tree installs "
            "what they need and builds them, then name their folder with --programs, or use "
            "the command beside them"
        )
    return folder


def check_locks(asked, has):
    """`has`: the contenders of each benchmark."""
    known = {contenders.canonical(name) for names in has.values() for name in names}
    for name in asked.locks:
        if contenders.canonical(name) not in known and not any(
            name in names for names in has.values()
        ):
            raise Failure(
                f"--locks: nobody is called '{name}' there; the contenders are "
                f"{', '.join(sorted(known))}"
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
    from . import running  # needs tqdm, which a report does not

    asked = benchmarks.Asked(
        options.quick, options.runs, options.seconds, tuple(options.threads), tuple(options.locks)
    )
    if options.list:
        print_list(asked)
        return 0
    if not options.names:
        raise Failure(
            "nothing to measure is named; name a figure, a benchmark, a paper, or all; "
            "'readmost bench --list' shows them"
        )
    chosen = chosen_figures(options.names)
    folder = checked_programs(options.programs)
    results.check_writable(options.output)
    found = results.load_to_add(options.output)

    plan, seconds = [], 0
    programs = running.Programs(folder)
    has, missing = {}, []
    for one in benchmark_names(chosen):
        if not programs.has(one.runs):
            missing.append(one.name)
            continue
        has[one.name] = one.speaks.contenders(programs, one.runs)
    if missing and not has:
        raise Failure(
            f"{', '.join(missing)}: not built in '{folder}'; 'make bench' in the source tree "
            "installs what it needs and builds it"
        )
    check_locks(asked, has)
    for one in benchmark_names(chosen):
        if one.name in has:
            takes_part, left_out = running.chosen_contenders(one, asked, has[one.name])
            if takes_part:
                plan.append((one, takes_part, left_out))
                seconds += one.turn_seconds(asked) * one.turns_for(asked) * len(takes_part)

    progress = running.Progress(seconds)
    programs.tick = progress.tick
    progress.say(
        f"{machine.sentence(found['machine'])}: {machine.count(len(plan), 'benchmark')} for "
        f"{machine.count(len(chosen), 'figure')}, about {duration(seconds)}. Let nothing else "
        "run meanwhile."
    )
    if missing:
        progress.say(
            f"Not built, and left out: {', '.join(missing)}; 'make bench' in the source tree "
            "installs what they need and builds them."
        )
    failures, build = 0, build_facts()
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
            progress.say(
                f"{one.name}: {machine.count(len(takes_part), 'contender')}, "
                f"{machine.count(new['turns'], 'turn')} in {duration(new['took_seconds'])}"
            )
    finally:
        progress.close()
    where = "" if options.output == results.DEFAULT_FILE else f" --results {options.output}"
    print(f"Results: {options.output}. Next: readmost report out.html{where}")
    return SOME_FAILED if failures else 0


# --- report ---


def report(options):
    if not options.html and not options.markdown:
        raise Failure(
            "no file to write is named; name one, as in 'readmost report out.html', or "
            "--markdown FILE"
        )
    found = results.load(options.results)
    if options.html:
        from . import report as page  # needs matplotlib and jinja2

        results.write(options.html, page.html(found))
        print(options.html)
    if options.markdown:
        from . import markdown

        results.write(options.markdown, markdown.text(found))
        print(options.markdown)
    return 0


def main(words):
    signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    name = " ".join(["readmost", *words[:1]])
    try:
        options = parser().parse_args(words)
        return {"bench": bench, "report": report}[options.command](options)
    except Failure as problem:
        print(f"{name}: {problem}", file=sys.stderr)
        return STATUS
    except KeyboardInterrupt:
        print(f"{name}: interrupted; what was measured is kept", file=sys.stderr)
        return INTERRUPTED

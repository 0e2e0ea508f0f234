"""The command line of ``asyncguard bench missions``. Imports nothing heavy: help answers at once."""

from pathlib import Path
from typing import Any

from asyncguard_benchmark.commands.arguments import (
    add_command,
    add_jobs,
    add_names,
    add_out,
    described,
    number,
    positive,
    words,
)
from asyncguard_benchmark.commands.model_options import add_model_arguments
from asyncguard_benchmark.commands.play_options import add_players, add_regimes

SCORERS = ("strict", "compat")
EXCEPTIONS = ("relabel", "leave-out")
AGENT_NAMES = (
    "oracle",
    "serial",
    "asks-always",
    "inventing",
    "stand-in",
    "stale",
    "forgetful",
    "calls-in-chat",
    "answers-early",
    "eager",
    "out-of-order",
)
CHALLENGES = ("c1", "c2", "c3", "all")
HISTORIES = ("ua", "upta")
ROW_KEYS = ("agent", "player", "arm", "history", "regime", "observations", "seed")
_ABLATE_EXAMPLES = """\
examples:
  asyncguard bench missions ablate --agents stand-in --arms none,all,without-clarification,sham --quick
  asyncguard bench missions ablate --agents oracle,eager --regimes sync,fixed1 --quick --out ablation
  asyncguard bench missions ablate --agents eager --players plain,graph --regimes fixed1 --overlap 1 --quick
  asyncguard bench report ablation/findings.json --out missions.html

Each challenge is a study of its own: arms are compared on the same missions, and intervals know that missions of one
dialogue belong together. The same command again goes on where an interrupted run stopped.
"""
_REPORT_EXAMPLES = """\
examples:
  asyncguard bench missions report ablation --out missions.html
  asyncguard bench missions report missions.jsonl

PLACE is a file that `bench missions run` wrote, or a folder of such files; findings beside them are taken in. The page
shows rates with intervals, the routes, the outcomes of C2 and C3 by switches where both were played, and the frontier
of single missions step by step.
"""
_RESULTS_EXAMPLES = """\
examples:
  asyncguard bench missions results --dry-run
  asyncguard bench missions results --out benchmark/RESULTS-missions.md
  asyncguard bench missions results --freeze

The same command again goes on where an interrupted run stopped. Nothing is played if agents, missions or scorers are
not those that the design was frozen with.
"""
_RUN_EXAMPLES = """\
examples:
  asyncguard bench missions run --agents oracle,inventing --arms none,all,with-provenance --quick --out missions.jsonl
  asyncguard bench missions run --agents eager --players plain --regimes sync,fixed1 --patterns sssm,mstt
  asyncguard bench missions run --agents oracle --challenges all --histories ua,upta --held-out
  asyncguard bench missions run --model openai:gpt-4.1-mini --arms none,all --quick --dry-run
  asyncguard bench missions run --agents oracle,eager --arms none,all --regimes sync,fixed1 --overlap 1 --quick

Every mission is played alone, with the gold of the earlier ones as its history. Challenges: c1 are missions of several
calls with calls in the history, c2 later missions with texts alone, c3 the same with calls, all is every mission with
texts. A run ends at the first step that fits no call of the gold by name, unless --play-on is given. The same command
again goes on where an interrupted run stopped.

With --overlap the missions of a dialogue are one conversation, and the user does not wait: results of an earlier
mission may be pending when a later one is put. Then SR is that of the strict scorer, and the makespan is laid beside
the longest chain of calls, in ticks.
"""
_EXAMPLES = """\
examples:
  asyncguard bench missions score gpt.jsonl               every figure, by both scorers
  asyncguard bench missions score ua.jsonl --trajectories upta.jsonl --json | jq '.trajectories'
  asyncguard bench missions list --json | jq '.missing_held_out'
  asyncguard bench missions validate --domains travel
  asyncguard bench missions provenance                    false alarms and recall of the guard provenance
  asyncguard bench missions run --agents oracle,inventing --quick --out missions.jsonl
"""
_LIST_EXAMPLES = """\
examples:
  asyncguard bench missions list                          counts beside the plan
  asyncguard bench missions list --held-out --dialogues   every message that is held out

The bundled suite is being written: the table says what is there of what is planned.
"""
_VALIDATE_EXAMPLES = """\
examples:
  asyncguard bench missions validate
  asyncguard bench missions validate --domains travel,trading

Every proof runs on every mission: the gold is executed, each edge is needed and the rest commutes; each value stands
where its source says; later missions cannot be solved without the history nor asked values be known before the reply;
no call answers a chat; messages are written freely and not to be solved by copying words. Exit status 1 if one fails.
"""
_PROVENANCE_EXAMPLES = """\
examples:
  asyncguard bench missions provenance
  asyncguard bench missions provenance --domains mail,files --json | jq '.all.recall'

The guard judges every value of a required argument of the gold, which was said, so that each alarm is false; the same
place with an invented value of the same type and look, which it has to refuse; and with a value that an argument of the
name had before, which it cannot see. Nothing is played. Without --held-out the development domains are measured.
"""
_EXPORT_EXAMPLES = """\
examples:
  asyncguard bench missions export missions.jsonl
  asyncguard bench missions export held-out.jsonl --held-out

One dialogue a line in the form of Multi-Mission Tool Bench, which `bench adapt` and other harnesses read.
"""
_SCORE_EXAMPLES = """\
examples:
  asyncguard bench missions score gpt.jsonl
  asyncguard bench missions score gpt.jsonl --partial --explain --scorers strict
  asyncguard bench missions score ua-1.jsonl ua-2.jsonl --trajectories upta-1.jsonl upta-2.jsonl

FILE holds one mission a line in the shape that Multi-Mission Tool Bench and C3-Bench publish their runs in: id, idx,
type, task, tools, answer_list, predict_result. Names are judged from predict_result; rows whose stored label says
otherwise are listed. More files are repeats of the same missions, in the order of their seeds: tables are of all
together, intervals know that missions of one dialogue belong together. Files after --trajectories were played with the
calls of earlier missions in the history (C3), FILE without them (C2).

FILE may also be what `bench missions run` wrote: then each condition, split by --by, has its line for every challenge.

Two models are treated apart in the published analysis, and here only if asked. `--published-exceptions relabel` (files
named xlam) takes the names as right if a run makes the gold's calls one by one and lacks the end; `leave-out` (runs of
DeepSeek-R1 and V3) leaves out time-outs, empty last steps and refusals of the provider.
"""


def add_missions(commands: Any) -> None:
    """Add ``missions`` and its commands."""
    text = (
        "missions of one dialogue after each other: a suite of our own, and scores of result files"
    )
    top = commands.add_parser("missions", help=text, **described(text, _EXAMPLES))
    inner = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    made = add_command(
        inner,
        "score",
        "score result files in the published shape",
        "asyncguard_benchmark.suites.missions.commands.score",
        _SCORE_EXAMPLES,
    )
    made.add_argument(
        "files", type=Path, nargs="+", metavar="FILE", help="results; more are repeats"
    )
    add_scoring(made)
    add_names(
        made, "--by", ROW_KEYS, ("agent", "player", "arm", "regime"), "split played missions: "
    )
    made.add_argument(
        "--partial",
        action="store_true",
        help="score what can be read although other lines are broken",
    )
    _add_bundled(inner)
    _add_run(inner)


def add_scoring(made: Any) -> None:
    """Add what the scores of result files depend on."""
    made.add_argument(
        "--trajectories",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="the same missions in C3, as many files",
    )
    add_names(made, "--scorers", SCORERS, SCORERS)
    made.add_argument(
        "--explain", action="store_true", help="say where each failed mission left the gold"
    )
    add_names(made, "--published-exceptions", EXCEPTIONS, ())
    made.add_argument(
        "--trust-labels",
        action="store_true",
        help="take the stored labels of names where they differ, instead of those of the published rule",
    )


def _add_run(inner: Any) -> None:
    """Add the commands that play."""
    made = _command(inner, "run", "play the bundled missions", "run", _RUN_EXAMPLES)
    made.add_argument(
        "--arms",
        type=words,
        default=("none", "all"),
        metavar="A,B",
        help="guards; see `bench list arms`; also ask-hint, a sentence in the prompt",
    )
    _add_played(made)
    add_out(made, "missions.jsonl", "appended to")
    text = "play agents under the arms of an ablation, paired on missions"
    made = _command(inner, "ablate", text, "ablate", _ABLATE_EXAMPLES)
    made.add_argument(
        "--arms",
        type=words,
        metavar="A,B",
        help="all arms of an ablation by default; see `bench list arms`",
    )
    made.add_argument(
        "--resamples", type=positive, default=2000, metavar="N", help="draws behind adjusted p"
    )
    _add_played(made)
    add_out(made, "missions-ablation", "where runs and findings go", "DIR")
    text = "make one page of played missions"
    made = _command(inner, "report", text, "report", _REPORT_EXAMPLES)
    made.add_argument("place", type=Path, metavar="PLACE", help="file or folder")
    add_out(made, "missions.html", "the page")
    _add_results(inner)


def _add_results(inner: Any) -> None:
    """Add the command that plays the published design."""
    text = "play the published design of missions and write its document"
    made = _command(inner, "results", text, "results", _RESULTS_EXAMPLES)
    made.add_argument(
        "--design",
        type=Path,
        default=Path("benchmark/design-missions.json"),
        metavar="FILE",
        help="what is played and compared",
    )
    made.add_argument(
        "--runs",
        type=Path,
        default=Path("runs/missions"),
        metavar="DIR",
        help="where its runs are kept",
    )
    made.add_argument(
        "--dry-run", action="store_true", help="say what would be played and how long it takes"
    )
    made.add_argument(
        "--freeze",
        action="store_true",
        help="take the present agents, missions and scorers into the design",
    )
    made.add_argument(
        "--resamples", type=positive, default=2000, metavar="N", help="draws behind adjusted p"
    )
    add_jobs(made)
    add_out(made, "RESULTS-missions.md", "where it goes; a picture goes beside it")


def add_playing(made: Any, about: str = "") -> None:
    """Add what is played of any dialogues, by whom and how.

    Args:
        made: The command.
        about: Which agents play by default.
    """
    add_names(made, "--agents", AGENT_NAMES, (), about)
    add_players(made)
    add_names(made, "--challenges", CHALLENGES, CHALLENGES[:3])
    add_names(made, "--histories", HISTORIES, (), "instead of those of the challenges: ")
    add_regimes(made, "sync")
    made.add_argument("--repeats", type=positive, default=1, metavar="R", help="seeds 0 to R-1")
    made.add_argument(
        "--play-on", action="store_true", help="go on after a step that fits no call of the gold"
    )
    made.add_argument("--patterns", type=words, default=(), metavar="sssm,mstt", help="only these")
    add_jobs(made)


def _add_played(made: Any) -> None:
    add_playing(made, "the oracle by default, and none beside a model: ")
    made.add_argument(
        "--overlap",
        type=number,
        metavar="K",
        help="play all missions of a dialogue in one conversation: the next is put K ticks after the first call or "
        "text of the last one, whatever is pending",
    )
    made.add_argument(
        "--observations",
        choices=("live", "recorded"),
        default="live",
        help="results: of the tools, or those of the gold whatever the arguments",
    )
    made.add_argument("--quick", action="store_true", help="16 patterns of the development part")
    _add_split(made)
    add_model_arguments(made)


def _add_bundled(inner: Any) -> None:
    """Add the commands of the bundled suite."""
    listed = _command(inner, "list", "count what the bundled suite holds", "census", _LIST_EXAMPLES)
    _add_split(listed)
    listed.add_argument(
        "--dialogues", action="store_true", help="also print the messages of every dialogue"
    )
    proved = _command(
        inner, "validate", "prove that the bundled missions hold", "validate", _VALIDATE_EXAMPLES
    )
    proved.add_argument("--domains", type=words, metavar="A,B", help="only these")
    traced = _command(
        inner,
        "provenance",
        "measure false alarms and recall of the guard provenance",
        "provenance",
        _PROVENANCE_EXAMPLES,
    )
    traced.add_argument("--domains", type=words, metavar="A,B", help="only these")
    _add_split(traced)
    written = _command(
        inner,
        "export",
        "write the bundled missions in the published form",
        "export",
        _EXPORT_EXAMPLES,
    )
    written.add_argument("file", type=Path, metavar="FILE", help="JSON lines to write")
    _add_split(written)


def _add_split(made: Any) -> None:
    made.add_argument("--held-out", action="store_true", help="only dialogues that are held out")


def _command(inner: Any, name: str, text: str, module: str, examples: str) -> Any:
    where = f"asyncguard_benchmark.suites.missions.commands.{module}"
    return add_command(inner, name, text, where, examples)

"""Writes what the documents show of the code: ``python -m tests.docs.generate``; a test compares the two.

A block stands between ``<!-- generated: name -->`` and ``<!-- end -->``; everything else in a document is written by
hand.
"""

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from enum import Enum, StrEnum
from itertools import pairwise, zip_longest
from types import ModuleType
from typing import Any, get_args, get_type_hints

import asyncguard.config
import asyncguard.testing
from asyncguard import Limits, Timing, ToolSpec, build_agent
from asyncguard.adapters import ui_events
from asyncguard.config import OPT_IN_GUARDS
from asyncguard.core import events, resume_policy, resume_terms, tool_spec
from asyncguard.core.declaration import Declaration
from asyncguard.guards import GUARDS
from asyncguard.observability.fields.field import Unit
from asyncguard.observability.fields.table import CALL, ENVELOPE, FIELDS
from asyncguard.recovery.diagnosis import RULES
from asyncguard.recovery.policy import FAILED, STRANGE, Row
from asyncguard.testing import ScriptedChatModel
from asyncguard_benchmark.harness.registry import agent_class
from asyncguard_benchmark.harness.suites import registry
from asyncguard_benchmark.suites.hazards.outside.tally import COLUMNS as OUTSIDE_COLUMNS
from asyncguard_benchmark.suites.missions.agents.roster import AGENTS as MISSION_AGENTS
from tests.adapters.run.beside import MIDDLEWARE
from tests.docs.field_table import describe_fields
from tests.docs.markdown import ROOT, generated_names, regenerated
from tests.docs.state_diagram import mermaid
from tests.docs.story import timeline

DOCUMENTS = (
    "README.md",
    "SECURITY.md",
    "benchmark/README.md",
    "benchmark/HAZARDS.md",
    "docs/architecture.md",
    "docs/guards.md",
    "docs/reliability.md",
    "docs/tutorial.md",
    "docs/tools.md",
    "docs/limits.md",
    "docs/logs.md",
    "docs/migration.md",
    "docs/testing.md",
    "docs/state-tables.md",
    "docs/events.md",
    "docs/react.md",
    "docs/ui-contract.md",
)


def five_lines() -> str:
    """The first example, without its docstring."""
    source = (ROOT / "examples" / "01_five_lines.py").read_text(encoding="utf-8")
    body = source.split('"""\n', 1)[1].strip()
    return f"```python\n{body}\n```"


def react_stream() -> str:
    """The hook of the example for React."""
    return _example_of_react("guarded.ts", "ts")


def react_view() -> str:
    """The components of the example for React."""
    return _example_of_react("Agent.tsx", "tsx")


def _example_of_react(name: str, language: str) -> str:
    source = (ROOT / "examples" / "ui" / "react" / name).read_text(encoding="utf-8")
    return f"```{language}\n{source.strip()}\n```"


def attribute_docs(module: ModuleType, name: str) -> dict[str, str]:
    """Return the text below each field of a class."""
    return {field: text for field, _, text in _docs_in(open_source(module), name)}


def _docs_in(source: str, name: str) -> list[tuple[str, Any, str]]:
    """Return name, value (of members of an enum) and text of each documented attribute of a class."""
    body = next(
        node.body
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and node.name == name
    )
    found: list[tuple[str, Any, str]] = []
    for item, text in pairwise(body):
        if not (isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)):
            continue
        match item:
            case ast.AnnAssign(target=ast.Name(id=field)):
                found.append((field, None, str(text.value.value)))
            case ast.Assign(targets=[ast.Name(id=field)], value=ast.Constant(value=value)):
                found.append((field, value, str(text.value.value)))
    return found


def open_source(module: ModuleType) -> str:
    """The source of a module."""
    return (ROOT / str(module.__file__)).read_text(encoding="utf-8")


def _in_one_line(text: str) -> str:
    return " ".join(text.split()).replace("``", "`")


def guard_lines() -> str:
    """Return a line for each guard: the summary of its switch."""
    return _guards(lambda said: said.partition("\n")[0])


def guard_details() -> str:
    """Return all that the switch of each guard says."""
    return _guards(lambda said: said)


def _guards(shortened: Callable[[str], str]) -> str:
    meanings = attribute_docs(asyncguard.config, "GuardConfig")
    lines = ["| guard | what it does |", "|---|---|"]
    for name in (*(name for name, _ in GUARDS), "completion"):
        off = "(off by default) " if name in OPT_IN_GUARDS else ""
        lines.append(f"| `{name}` | {off}{_in_one_line(shortened(meanings[name]))} |")
    return "\n".join(lines)


def packages() -> str:
    """Return the first line of each package, from the bottom to the top of the layers."""
    lines = ["| folder | what is in it |", "|---|---|"]
    order = (
        "core schema guards recovery observability journal runtime distributed adapters testing cli"
    )
    for name in order.split():
        said = (importlib.import_module(f"asyncguard.{name}").__doc__ or "").partition("\n")[0]
        lines.append(f"| `{name}/` | {_in_one_line(said.partition(': ')[2] or said)} |")
    return "\n".join(lines)


def libraries() -> str:
    """Return the libraries that a module does without, and why: a paragraph "Own code, not ..." of its docstring."""
    lines = ["| own code | library left aside | why |", "|---|---|---|"]
    for path in sorted(
        [*ROOT.glob("asyncguard/**/*.py"), *ROOT.glob("benchmark/asyncguard_benchmark/**/*.py")]
    ):
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        for paragraph in said.split("\n\n"):
            if found := re.fullmatch(r"Own code, not ([^:]+): (.+)\.", _in_one_line(paragraph)):
                home = path.parent if path.name == "__init__.py" else path
                lines.append(f"| `{home.relative_to(ROOT)}` | {found[1]} | {found[2]} |")
    return "\n".join(lines)


def kill_points() -> str:
    """Return the instants at which the reliability suite kills a process."""
    return _members("reliability/cases.py", "Point", "point", "the process dies")


def outside_families() -> str:
    """Return the faults of the part of the hazard suite that counts effects outside."""
    return _members(
        "asyncguard_benchmark/suites/hazards/outside/cases.py", "Family", "family", "fault"
    )


def security_suites() -> str:
    """Return what each suite shows that attacks the runtime or damages its files."""
    places = sorted((ROOT / "tests/security").glob("test_*.py"))
    places += [ROOT / "tests/fuzz/test_wrong_values.py", ROOT / "tests/journal/test_damage.py"]
    lines = ["| suite | what it shows |", "|---|---|"]
    for path in places:
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        lines.append(f"| `{path.relative_to(ROOT).as_posix()}` | {said.partition(chr(10))[0]} |")
    return "\n".join(lines)


def outside_levels() -> str:
    """Return what is declared of the tools of that part."""
    return _members(
        "asyncguard_benchmark/suites/hazards/outside/cases.py", "Level", "level", "declared"
    )


def outside_settings() -> str:
    """Return the runtimes that play that part."""
    return _members(
        "asyncguard_benchmark/suites/hazards/outside/cases.py", "Setting", "setting", "runtime"
    )


def outside_columns() -> str:
    """Return what that part counts."""
    rows = [f"| {name} | {meaning} |" for name, meaning in OUTSIDE_COLUMNS.items()]
    return "\n".join(["| column | counted |", "|---|---|", *rows])


def facets() -> str:
    """Return the tables into which verdicts can be split."""
    return _members("asyncguard_benchmark/harness/names.py", "Facet", "`--by`", "rows: figures")


def dependencies() -> str:
    """Return how later calls of a task depend on earlier ones."""
    return _members(
        "asyncguard_benchmark/harness/dependencies.py",
        "Dependency",
        "dependency",
        "of a later call",
    )


def mistakes() -> str:
    """Return the mistakes of sub-tasks that failed."""
    return _members(
        "asyncguard_benchmark/harness/scoring/mistakes.py", "Mistake", "mistake", "found if"
    )


def _members(file: str, enum: str, head: str, meaning: str) -> str:
    """Return the members of an enum of the benchmark with what stands below them."""
    # Read and not imported: the reliability suite is not an installed package.
    said = _docs_in((ROOT / "benchmark" / file).read_text(encoding="utf-8"), enum)
    rows = [f"| `{value}` | {_in_one_line(text)} |" for _, value, text in said]
    return "\n".join([f"| {head} | {meaning} |", "|---|---|", *rows])


def limits() -> str:
    """Bounds and durations with their defaults."""
    lines = ["| setting | default | meaning |", "|---|---|---|"]
    for kind in (Limits, Timing):
        meanings = attribute_docs(asyncguard.config, kind.__name__)
        lines += [
            f"| `{kind.__name__}.{item.name}` | {_number(item.default)} | {meanings[item.name]} |"
            for item in fields(kind)
        ]
    return "\n".join(lines)


def tool_fields() -> str:
    """Return the fields of a tool's declaration with their defaults."""
    meanings = attribute_docs(tool_spec, "ToolSpec")
    lines = ["| field | default | meaning |", "|---|---|---|"]
    for item in fields(ToolSpec):
        said = _in_one_line(meanings[item.name])
        only = "" if item.name in Declaration.__annotations__ else " `ToolSpec` only."
        lines.append(f"| `{item.name}` | {shown_default(item.default)} | {said}{only} |")
    return "\n".join(lines)


def shown_default(default: Any) -> str:
    """Return a default as a cell of a table."""
    if default is MISSING:
        return "required"
    return f"`{default.value if isinstance(default, StrEnum) else default}`"


def simulated_agents() -> str:
    """Return what each simulated agent does; personas are one row."""
    lines = ["| agent | what it does |", "|---|---|"]
    persona = next(iter(registry().personas))  # all are of one class
    shown = {name: name for name in registry().agents} | {"persona:MODEL": persona}
    for name, kind in shown.items():
        said = (agent_class(kind).__doc__ or "").strip().partition("\n")[0]
        lines.append(f"| `{name}` | {said} |")
    return "\n".join(lines)


def mission_agents() -> str:
    """Return what each simulated agent of the missions does."""
    lines = ["| agent | what it does |", "|---|---|"]
    for name, kind in MISSION_AGENTS.items():
        lines.append(f"| `{name}` | {(kind.__doc__ or '').strip().partition(chr(10))[0]} |")
    return "\n".join(lines)


def events_for_ui() -> str:
    """Return the events of the stream for user interfaces with their fields."""
    sections = []
    for event in sorted(get_args(ui_events.UIEvent), key=_place_in_contract):
        (kind,) = get_args(get_type_hints(event)["type"])
        said = " ".join((event.__doc__ or "").split())
        lines = [f'### `{event.__name__}`, type `"{kind}"`', "", said, ""]
        lines += ["| field | value |", "|---|---|"]
        for name, meaning in attribute_docs(ui_events, event.__name__).items():
            if name != "version":
                lines.append(f"| `{name}` | {_in_one_line(meaning)} |")
        sections.append("\n".join(lines))
    return "\n\n".join(sections)


def _place_in_contract(event: type) -> int:
    """Calls first: an interface that shows only one kind shows these."""
    order = ("CallEvent", "RecoveryEvent", "TaskEvent", "RunEvent", "TextEvent", "QuestionEvent")
    return order.index(event.__name__)


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def event_table() -> str:
    """One row per event: when it is written and what it says beyond the common fields."""
    lines = ["| event | when | own fields (_payloads_ only if asked for) |", "|---|---|---|"]
    common = {field.name for field in (*ENVELOPE, *CALL)}
    for event in events.EVENT_TYPES:
        own = [
            field
            for field in FIELDS[event.kind]
            if field.name not in common or _about_a_task(event, field.name)
        ]
        names = ", ".join(f"_`{f.name}`_" if f.unit is Unit.PAYLOAD else f"`{f.name}`" for f in own)
        when = (event.__doc__ or "").strip().splitlines()[0]
        lines.append(f"| `{event.kind}` | {when} | {names} |")
    return "\n".join(lines)


def _about_a_task(event: type[events.Event], name: str) -> bool:
    return name == "task" and not issubclass(event, events.CallEvent | events.CallProposed)


def drawn_timeline() -> str:
    """A run as the terminal shows it."""
    return f"```text\n{timeline().rstrip()}\n```"


def graph() -> str:
    """The compiled state machine."""

    def tool(value: str) -> str:
        """Do nothing."""
        return value

    drawn = build_agent(ScriptedChatModel([]), [tool]).get_graph()
    # Own lines instead of draw_mermaid(): its styles differ between versions of langchain-core.
    edges = sorted({(edge.source, edge.target) for edge in drawn.edges})
    lines = [f"    {_node(source)} --> {_node(target)}" for source, target in edges]
    return "\n".join(["```mermaid", "stateDiagram-v2", *lines, "```"])


def _node(name: str) -> str:
    return "[*]" if name.startswith("__") else name


def call_lifecycle() -> str:
    """The states of a call."""
    return f"```mermaid\n{_lifecycles()[0]}\n```"


def task_lifecycle() -> str:
    """The states of a task."""
    return f"```mermaid\n{_lifecycles()[1]}\n```"


def _lifecycles() -> list[str]:
    return [part.strip() for part in mermaid().split("\n\n")]


def diagnosis_rules() -> str:
    """The rules of diagnosis in the order in which they are asked."""
    lines = ["| rule | hazard | confidence |", "|---|---|---|"]
    return "\n".join(
        [*lines, *(f"| `{rule.name}` | {rule.hazard} | {rule.confidence:g} |" for rule in RULES)]
    )


def policy_rows() -> str:
    """The table of recovery, failed attempts beside strange answers."""
    lines = ["| | a failed attempt | a strange answer |", "|---|---|---|"]
    for number, pair in enumerate(zip_longest(FAILED, STRANGE), 1):
        lines.append(f"| {number} | {' | '.join(map(_policy_cell, pair))} |")
    return "\n".join(lines)


def _policy_cell(row: Row | None) -> str:
    return "" if row is None else f"`{row.action}`: {row.reason}"


def beside_langchain() -> str:
    """Return where each middleware of LangChain stands, which a test plays."""
    rows = [f"| `{row.name}` | {row.place} | {row.note} |" for row in MIDDLEWARE]
    return "\n".join(["| middleware | in the list | to know |", "|---|---|---|", *rows])


def names_for_tests() -> str:
    """Return the names of ``asyncguard.testing``, functions with their arguments, and what each is."""
    texts = {}
    for path in (ROOT / "asyncguard" / "testing").glob("*.py"):
        for item, text in pairwise(ast.parse(path.read_text(encoding="utf-8")).body):
            # Types have their text below them.
            if isinstance(item, ast.AnnAssign) and isinstance(text, ast.Expr):
                texts[ast.unparse(item.target)] = str(ast.literal_eval(text.value))
    rows = []
    for name in sorted(asyncguard.testing.__all__, key=str.swapcase):
        found = getattr(asyncguard.testing, name)
        documented = isinstance(found, type) or inspect.isfunction(found)
        said = (inspect.getdoc(found) if documented else texts[name]) or ""
        given = f"({_arguments(found)})" if inspect.isfunction(found) else ""
        rows.append(f"| `{name}{given}` | {said.partition(chr(10))[0]} |")
    return "\n".join(["| name | what it is |", "|---|---|", *rows])


def _arguments(function: Callable[..., Any]) -> str:
    """Return the arguments of a function with their defaults, without their types."""
    signature = inspect.signature(function)
    plain = {
        name: each.replace(annotation=each.empty, default=_Written(each.default))
        if each.default is not each.empty
        else each.replace(annotation=each.empty)
        for name, each in signature.parameters.items()
    }
    return str(inspect.Signature(list(plain.values())))[1:-1]


class _Written:
    """A default whose ``repr`` is what a program writes."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __repr__(self) -> str:
        if isinstance(self._value, type):
            return self._value.__name__
        return str(self._value) if isinstance(self._value, Enum) else repr(self._value)


def resume_rules() -> str:
    """Return the rows of the fate table in their order."""
    lines = ["| | row | asked when | fate |", "|---|---|---|---|"]
    for number, rule in enumerate(resume_policy.RULES, 1):
        whys = ", ".join(why for why in resume_terms.Why if why in rule.whys)
        lines.append(f"| {number} | {rule.name} | {whys} | `{rule.fate}` |")
    return "\n".join(lines)


MAKERS: Mapping[str, Callable[[], str]] = {
    "five-lines": five_lines,
    "react-stream": react_stream,
    "react-view": react_view,
    "guard-lines": guard_lines,
    "guard-details": guard_details,
    "packages": packages,
    "libraries": libraries,
    "kill-points": kill_points,
    "outside-families": outside_families,
    "security-suites": security_suites,
    "outside-levels": outside_levels,
    "outside-settings": outside_settings,
    "outside-columns": outside_columns,
    "facets": facets,
    "dependencies": dependencies,
    "mistakes": mistakes,
    "limits": limits,
    "tool-fields": tool_fields,
    "agents": simulated_agents,
    "mission-agents": mission_agents,
    "ui-events": events_for_ui,
    "timeline": drawn_timeline,
    "events": event_table,
    "fields": describe_fields,
    "graph": graph,
    "call-lifecycle": call_lifecycle,
    "task-lifecycle": task_lifecycle,
    "diagnosis-rules": diagnosis_rules,
    "policy-rows": policy_rows,
    "resume-rules": resume_rules,
    "beside-langchain": beside_langchain,
    "test-kit": names_for_tests,
}
"""Name of a block to what makes it, with its fence where it needs one."""


def main() -> None:
    """Rewrites the documents."""
    for name in DOCUMENTS:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        path.write_text(regenerated(text, MAKERS), encoding="utf-8")
        sys.stdout.write(f"{name}: {', '.join(generated_names(text))}\n")


if __name__ == "__main__":
    main()

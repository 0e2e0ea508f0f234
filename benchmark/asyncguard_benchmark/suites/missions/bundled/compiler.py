"""The compiler of written missions: it executes the gold of a source and records where every value comes from.

Run as ``python -m asyncguard_benchmark.suites.missions.bundled.compiler FOLDER``, it writes the data file of each
source in the folder. Whether the missions are good ones is not asked here but by the proofs.
"""

import hashlib
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from asyncguard_benchmark.errors import DataError, ToolFailure
from asyncguard_benchmark.services.service import Executor, copy_json
from asyncguard_benchmark.suites.missions.bundled.bundle import (
    CANARY,
    Bundle,
    BundledDialogue,
    BundledMission,
    GoldNode,
    Kind,
    Missing,
    Source,
    Split,
    dumped,
    patched,
    read_bundle,
    toolset_of,
)
from asyncguard_benchmark.suites.missions.bundled.history import history_sources
from asyncguard_benchmark.suites.missions.bundled.source_text import (
    Draft,
    DraftDialogue,
    DraftMission,
    DraftNode,
    Expression,
    expression,
    read_source,
)
from asyncguard_benchmark.suites.missions.terms import ANSWER, ASK, Letter, Relation

_HEADS = ("domain", "split", "state")


def compiled(path: Path) -> Bundle:
    """Compile the source of a domain.

    Raises:
        DataError: the source breaks its format, or a call of the gold fails.
    """
    draft = read_source(path)
    if missing := [name for name in _HEADS if name not in draft.settings]:
        raise DataError(str(path), f"lacks the line `{missing[0]}: ...` before the first dialogue")
    domain, state = draft.settings["domain"], path.parent / draft.settings["state"]
    base = json.loads(state.read_text("utf-8"))
    bundle = Bundle(
        canary=CANARY,
        domain=domain,
        split=Split(draft.settings["split"]),
        state=base,
        dialogues=(),
    )
    found = tuple(_dialogue(draft, each, bundle) for each in draft.dialogues)
    return replace(bundle, dialogues=found)


def _dialogue(draft: Draft, each: DraftDialogue, bundle: Bundle) -> BundledDialogue:
    where = f"{draft.path}:{each.line}"
    said = each.settings
    if missing := [name for name in ("tools", "time") if name not in said]:
        raise DataError(where, f"{each.id} lacks the line `{missing[0]}: ...`")
    # What stands for all dialogues is the file of the state; a dialogue's own line is a patch of it.
    patch = said["state"] if said["state"] != draft.settings["state"] else "{}"
    toolset = toolset_of(bundle.domain, where)
    names = tuple(said["tools"].split())
    if unknown := sorted(set(names) - toolset.tools.keys()):
        raise DataError(where, f"{each.id} lists unknown tools: {', '.join(unknown)}")
    state = patched(bundle.state, json.loads(patch))
    if (problem := toolset.state_problem(state)) is not None:
        raise DataError(where, f"the state of {each.id} breaks its schema: {problem.message[:200]}")
    letters = "".join(mission.letter for mission in each.missions)
    if letters != each.pattern:
        raise DataError(where, f"{each.id} is to be {each.pattern}, and its missions are {letters}")
    made = BundledDialogue(
        id=each.id, tools=names, time=said["time"], initial_state=json.loads(patch), missions=()
    )
    compiler = _Compiler(path=draft.path, executor=bundle.executor(made))
    for mission in each.missions:
        done = compiler.mission(mission)
        made = replace(made, missions=(*made.missions, done))
        at = len(made.missions) - 1
        sources = history_sources(bundle, made, at)
        made = replace(made, missions=(*made.missions[:-1], replace(done, history_sources=sources)))
    return made


@dataclass(kw_only=True)
class _Compiler:
    """State of the compilation of one dialogue."""

    path: Path
    executor: Executor
    earlier: list[dict[str, tuple[int, Any]]] = field(default_factory=list)
    """By mission: label -> number and result of the node."""

    def mission(self, draft: DraftMission) -> BundledMission:
        """Execute the gold of a mission."""
        if not draft.text or not draft.summary:
            raise DataError(
                f"{self.path}:{draft.line}", "a mission has a text and a summary, `= ...`"
            )
        labels: dict[str, tuple[int, Any]] = {}
        self.earlier.append(labels)
        nodes: list[GoldNode] = []
        for each in draft.nodes:
            where = f"{self.path}:{each.line}"
            nodes.append(
                _question(each, nodes, where) if each.asked else self._call(each, nodes, where)
            )
            if each.label:
                if each.label in labels:
                    raise DataError(where, f"two calls of the mission have the label {each.label}")
                labels[each.label] = len(nodes) - 1, nodes[-1].observation
        summary, facts = self._summary(draft.summary, f"{self.path}:{draft.summary_line}")
        kind = "tool" if nodes else "chat"
        answer = {"answer_type": kind}
        nodes.append(
            GoldNode(name=ANSWER, arguments=answer, needs=_ends(nodes, 0), observation=summary)
        )
        return BundledMission(
            letter=Letter(draft.letter),
            relation=Relation(draft.relation) if draft.relation else None,
            mention=draft.mention,
            text=draft.text,
            nodes=tuple(nodes),
            facts=tuple(facts),
            final_state=state_digest(self.executor),
        )

    def _call(self, each: DraftNode, nodes: Sequence[GoldNode], where: str) -> GoldNode:
        arguments, sources = {}, []
        for name, written in each.arguments.items():
            arguments[name], found = self._value(written, f"/{name}", where)
            sources += found
        used = {
            origin.node
            for source in sources
            for origin in source.origins()
            if origin.kind is Kind.RESULT and origin.node is not None
        }
        needs = used | {self._labelled(label, where)[0] for label in each.after}
        asks = [number for number, node in enumerate(nodes) if node.name == ASK]
        if asks and not any(number >= asks[-1] for number in needs):
            needs.add(asks[-1])
        try:
            result = copy_json(self.executor.invoke(each.tool, arguments))
        except ToolFailure as problem:
            raise DataError(where, f"{each.tool} fails: {problem}") from problem
        return GoldNode(
            name=each.tool,
            arguments=arguments,
            needs=tuple(sorted(needs)),
            observation=result,
            sources=tuple(sources),
        )

    def _labelled(self, label: str, where: str, mission: int = -1) -> tuple[int, Any]:
        if label not in self.earlier[mission]:
            raise DataError(where, f"no call has the label {label!r} there")
        return self.earlier[mission][label]

    def _value(self, written: Expression, at: str, where: str) -> tuple[Any, list[Source]]:
        """Return a value, and the sources of its leaves."""
        if written.items is not None:
            values, sources = [], []
            for place, item in enumerate(written.items):
                value, found = self._value(item, f"{at}/{place}", where)
                values.append(value)
                sources += found
            return values, sources
        source = self._source(written, where)
        return source.value, [replace(source, at=at)]

    def _source(self, written: Expression, where: str) -> Source:
        inputs = tuple(self._source(each, where) for each in written.inputs)
        node, value = None, written.literal
        if written.mission is not None and not written.mission < len(self.earlier) - 1:
            raise DataError(where, f"@{written.mission + 1} is not an earlier mission")
        if written.node is not None:
            mission = -1 if written.mission is None else written.mission
            node, result = self._labelled(written.node, where, mission)
            value = pointed(result, written.pointer, where)
        return Source(
            kind=written.kind,
            value=value,
            mission=written.mission,
            node=node,
            pointer=written.pointer,
            how=written.how,
            inputs=inputs,
        )

    def _summary(self, text: str, where: str) -> tuple[str, list[Source]]:
        """Fill in the holes of a summary; each is a fact."""
        made, place, facts = "", 0, []
        while (start := text.find("{", place)) >= 0:
            written, end = expression(text, start + 1, where)
            if text[end : end + 1] != "}":
                raise DataError(where, f"expected }} after a value, found {text[end:][:40]!r}")
            source = self._source(written, where)
            facts.append(source)
            made += text[place:start] + str(source.value)
            place = end + 1
        return made + text[place:], facts


def _question(each: DraftNode, nodes: Sequence[GoldNode], where: str) -> GoldNode:
    if not each.reply:
        raise DataError(where, "a question has a reply, `< ...`")
    missing = tuple(Missing(tool=t, parameter=p, aliases=words) for t, p, words in each.asked)
    tools = dict.fromkeys(one.tool for one in missing)
    arguments = {
        "tool_name": " and ".join(tools),
        "missing_required_parameters": [one.parameter for one in missing],
    }
    asks = [number for number, node in enumerate(nodes) if node.name == ASK]
    return GoldNode(
        name=ASK,
        arguments=arguments,
        needs=_ends(nodes, asks[-1] if asks else 0),
        observation=each.question,
        reply=each.reply,
        missing=missing,
    )


def _ends(nodes: Sequence[GoldNode], first: int) -> tuple[int, ...]:
    """Return the nodes from a place on that no other needs."""
    needed = {number for node in nodes for number in node.needs}
    return tuple(number for number in range(first, len(nodes)) if number not in needed)


def pointed(value: Any, pointer: str, where: str) -> Any:
    """Return what a JSON pointer leads to.

    Raises:
        DataError: it leads nowhere.
    """
    for part in pointer.split("/")[1:]:
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (LookupError, ValueError, TypeError) as problem:
            raise DataError(where, f"{pointer} leads nowhere at {part!r}") from problem
    return value


def state_digest(executor: Executor) -> str:
    """Return the SHA-256 of a state."""
    text = json.dumps(executor.public_state(), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def day_of(time: str, where: str) -> date:
    """Return the day of a time `YYYY-MM-DD HH:MM:SS`.

    Raises:
        DataError: it has another form.
    """
    if re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", time) is None:
        raise DataError(where, f"expected YYYY-MM-DD HH:MM:SS, found {time[:40]!r}")
    return date.fromisoformat(time[:10])


def main(arguments: Sequence[str]) -> int:
    """Compile all sources of a folder into the data of the package."""
    if len(arguments) != 1:
        sys.stderr.write(
            "usage: python -m asyncguard_benchmark.suites.missions.bundled.compiler FOLDER\n"
        )
        return 2
    out = Path(__file__).parents[1] / "data"
    out.mkdir(exist_ok=True)
    failed = 0
    for path in sorted(Path(arguments[0]).glob("*.txt")):
        try:
            text = dumped(compiled(path))
            read_bundle(text, path.name)
        except DataError as problem:
            sys.stderr.write(f"{problem}\n")
            failed += 1
            continue
        (out / f"{path.stem}.json").write_text(text, "utf-8")
        sys.stdout.write(f"{path.stem}.json\n")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

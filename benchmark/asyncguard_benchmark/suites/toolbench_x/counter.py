"""Counter between an agent and the sandbox: it counts calls, decides faults and gives hints."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from asyncguard_benchmark.harness.sandbox import Sandbox, SandboxError
from asyncguard_benchmark.suites.toolbench_x.decision_rule import Injector, Visit
from asyncguard_benchmark.suites.toolbench_x.hazards import Control, Hint
from asyncguard_benchmark.suites.toolbench_x.tool_modules import ForeignModule


@dataclass(kw_only=True)
class Counter:
    """The counter at which an agent's calls are taken."""

    sandbox: Sandbox
    task: str
    """Key of the task."""
    seed: int
    controls: Sequence[Control] = ()
    """Faults that are decided here."""
    hints: Sequence[Hint] = ()
    """Hints that a failing tool may give."""
    taken: list[str] = field(default_factory=list)
    """Tools that were called, in order of arrival; a list, because calls arrive on several threads."""
    injector: Injector = field(init=False)

    def __post_init__(self) -> None:
        self.injector = Injector(seed=self.seed, task=self.task, controls=self.controls)

    def tools(self, module: ForeignModule) -> list[BaseTool]:
        """Return the functions of the module as tools."""
        return [
            StructuredTool(
                name=each.name,
                description=each.description,
                args_schema=dict(each.parameters),
                func=self._taking(each.name),
            )
            for each in module.tools
        ]

    def _taking(self, tool: str) -> Callable[..., Any]:
        def take(**arguments: Any) -> Any:
            self.taken.append(tool)
            visit = self.injector.visit(tool, arguments)
            try:
                result = visit.through(lambda sent: self.sandbox.call(tool, sent))
            except SandboxError:
                raise
            except Exception as problem:
                hint = self._hint(visit, str(problem))
                if hint is None:
                    raise
                raise type(problem)(f"{problem}\n{hint}") from problem
            failed = isinstance(result, dict) and result.get("ok") is False
            hint = (
                self._hint(visit, str(result.get("error") if failed else ""))
                if failed or visit.fired
                else None
            )
            if hint is None:
                return result
            return (
                {**result, "recovery_hint": hint}
                if isinstance(result, dict)
                else f"{result}\n{hint}"
            )

        return take

    def _hint(self, visit: Visit, text: str) -> str | None:
        """Return the hint for a failpoint that fired or that a failure names, else the first of the tool, or None."""
        mine = [each for each in self.hints if each.tool == visit.tool]
        struck = {each.failpoint for each in visit.fired}
        named = [each for each in mine if each.failpoint in struck or each.failpoint in text]
        return next((f"Hint: {each.text}" for each in (*named, *mine)), None)

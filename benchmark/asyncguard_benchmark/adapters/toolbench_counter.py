"""Between an agent and the sandbox: calls are counted, faults are decided, hints are given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from asyncguard_benchmark.adapters.sandbox import Sandbox, SandboxError
from asyncguard_benchmark.adapters.toolbench_hazards import Control, Hint
from asyncguard_benchmark.adapters.toolbench_modules import ForeignModule
from asyncguard_benchmark.adapters.toolbench_rule import Injector


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
    """What a tool that fails may say."""
    taken: list[str] = field(default_factory=list)
    """Tools that were called, in order of arrival; a list, because calls arrive on several threads."""
    injector: Injector = field(init=False)

    def __post_init__(self) -> None:
        self.injector = Injector(seed=self.seed, task=self.task, controls=self.controls)

    def tools(self, module: ForeignModule) -> list[BaseTool]:
        """The functions of the module as tools."""
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
            try:
                result = self.injector.through(tool, arguments, lambda sent: self.sandbox.call(tool, sent))
            except SandboxError:
                raise
            except Exception as problem:
                hint = self._hint(tool, str(problem))
                if hint is None:
                    raise
                raise type(problem)(f"{problem}\n{hint}") from problem
            failed = isinstance(result, dict) and result.get("ok") is False
            hint = self._hint(tool, str(result.get("error"))) if failed else self._after_drift(tool)
            if hint is None:
                return result
            return {**result, "recovery_hint": hint} if isinstance(result, dict) else f"{result}\n{hint}"

        return take

    def _after_drift(self, tool: str) -> str | None:
        last = self.injector.fired[-1] if self.injector.fired else None
        return self._hint(tool, last.failpoint) if last is not None and last.drift and last.tool == tool else None

    def _hint(self, tool: str, text: str) -> str | None:
        """What the hints say of a failure: of the failpoint that it names, else the first of the tool."""
        mine = [each for each in self.hints if each.tool == tool]
        named = [each for each in mine if each.failpoint in text]
        return next((f"Hint: {each.text}" for each in (*named, *mine)), None)

"""AsyncTool as a suite: the paper's twelve categories, its compositions, and its simulated agents."""

from asyncguard_benchmark.harness.suites import BenchmarkSuite

_SERVICES = "asyncguard_benchmark.services"

AGENTS = {
    "oracle": "asyncguard_benchmark.harness.agents.schedulers:OracleAgent",
    "serial": "asyncguard_benchmark.harness.agents.schedulers:SerialAgent",
    "eager": ".agents.eager:EagerAgent",
    "neglectful": ".agents.neglectful:NeglectfulAgent",
    "confused": ".agents.confused:ConfusedAgent",
    "forgetful": ".agents.forgetful:ForgetfulAgent",
    "malformed": ".agents.malformed:MalformedAgent",
    "keyword-and-copy": ".agents.keyword:KeywordAgent",
    "eager-batch": ".agents.eager:EagerBatchAgent",
    "parallel": "asyncguard_benchmark.harness.agents.schedulers:ParallelAgent",
    "heeding": "asyncguard_benchmark.harness.agents.schedulers:HeedingAgent",
    "batch": "asyncguard_benchmark.harness.agents.schedulers:BatchAgent",
    "foreseeing": ".agents.foreseeing:ForeseeingAgent",
}
"""Agents whose behaviour is written down."""
PERSONA_NAMES = (
    "persona:qwen-max",
    "persona:kimi-k2",
    "persona:gemini-2.5-pro",
    "persona:gpt-5",
    "persona:gpt-4o",
    "persona:gpt-4.1",
    "persona:llama-3.1-8b",
    "persona:glm-4-9b-chat",
    "persona:qwen2.5-7b",
    "persona:qwen2.5-14b",
    "persona:qwen3-8b",
    "persona:qwen3-14b",
    "persona:llama-3.1-70b",
    "persona:llama-3.3-70b",
    "persona:glm-4-32b",
    "persona:qwen3-32b",
    "persona:qwen2.5-32b",
    "persona:qwen3-30b-a3b",
    "persona:deepseek-v3.1-terminus",
)
"""Agents that were fitted to what these models scored; simulated as the others are."""

SUITE = BenchmarkSuite(
    summary="several tasks at once, whose results come late, after the AsyncTool paper",
    toolsets={
        "DM": f"{_SERVICES}.data_management:TOOLSET",
        "FS": f"{_SERVICES}.filesystem:TOOLSET",
        "DG": f"{_SERVICES}.data_generation:TOOLSET",
        "MA": f"{_SERVICES}.messaging:TOOLSET",
        "NO": f"{_SERVICES}.number_operations:TOOLSET",
        "SC": f"{_SERVICES}.social:TOOLSET",
        "SM": f"{_SERVICES}.string_manipulation:TOOLSET",
        "TP": f"{_SERVICES}.box_office:TOOLSET",
        "TB": f"{_SERVICES}.trading:TOOLSET",
        "TP*": f"{_SERVICES}.travel:TOOLSET",
        "DF": f"{_SERVICES}.data_format:TOOLSET",
        "MO": f"{_SERVICES}.machine:TOOLSET",
    },
    agents=AGENTS,
    personas=dict.fromkeys(PERSONA_NAMES, ".agents.personas.agent:PersonaAgent"),
    trained={"learned": "asyncguard_benchmark.learned.agent:LearnedAgent"},
    persona_note=".calibration.claims:persona_note",
    sets=("main", "four", "lite", "independent", "plain", "wide"),
    compositions=".dataset:compositions",
    drawn=".dataset:drawn_compositions",
    tasks="asyncguard_benchmark.harness.loading:shipped_sub_tasks",
    solved=".dataset:solved_tasks",
    score=".scorers.verdict:score",
    example=".few_shot:example_of",
    published={"harm": ".commands.harm:published"},
    commands=(
        ".commands.options:add_demo",
        ".commands.options:add_sweep",
        ".commands.options:add_harm",
        ".commands.options:add_validate",
        ".commands.options:add_calibrate",
        ".commands.options:add_inspect_logs",
    ),
)

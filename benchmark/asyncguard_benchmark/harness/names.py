"""Names that the command line needs before anything heavy is loaded."""

AGENT_NAMES = (
    "oracle",
    "serial",
    "eager",
    "neglectful",
    "confused",
    "forgetful",
    "malformed",
    "keyword-and-copy",
)
"""Agents whose behaviour is written down."""
HAZARD_AGENT_NAMES = ("naive", "retry-happy", "gives-up-early", "over-trusting", "competent")
"""Agents of the hazard suite: each does the same about every fault, but for the competent one, which diagnoses."""
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
PLAIN = "plain"
PLAYER_NAMES = (PLAIN, "graph", "middleware")

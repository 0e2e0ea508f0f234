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
PLAIN = "plain"
PLAYER_NAMES = (PLAIN, "graph", "middleware")

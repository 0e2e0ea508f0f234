"""Names of players, which the command line needs before anything heavy is loaded."""

PLAIN = "plain"
PLAYER_NAMES = (PLAIN, "graph", "middleware")

"""The best assignment of rows to columns."""

from collections.abc import Sequence


def best_assignment(worth: Sequence[Sequence[float]]) -> tuple[int | None, ...]:
    """Return for each row its column, so that the sum of worths is greatest; None for rows that get none.

    Rows join one after the other by the augmenting path that costs least (Bellman and Ford), which takes
    O(rows^2 columns) steps a row; reports have a handful.

    Args:
        worth: By row and column, not negative; all rows as long.
    """
    columns = len(worth[0]) if worth else 0
    owner: list[int | None] = [None] * columns
    for row in range(len(worth)):
        _join(worth, owner, row)
    found: list[int | None] = [None] * len(worth)
    for column, holder in enumerate(owner):
        if holder is not None:
            found[holder] = column
    return tuple(found)


def _join(worth: Sequence[Sequence[float]], owner: list[int | None], row: int) -> None:
    """Give a row a column, and the holder of that one another, as long as the sum grows most."""
    gain = list(worth[row])
    before: list[int | None] = [None] * len(owner)
    for _ in owner:
        for column, holder in enumerate(owner):
            if holder is None:
                continue
            for other, value in enumerate(worth[holder]):
                moved = gain[column] - worth[holder][column] + value
                if other != column and moved > gain[other]:
                    gain[other], before[other] = moved, column
    ends = [
        reached if holder is None else reached - worth[holder][column]
        for column, (reached, holder) in enumerate(zip(gain, owner, strict=True))
    ]
    place = max(range(len(owner)), key=ends.__getitem__, default=0)
    if not ends or ends[place] <= 0:
        return
    while (source := before[place]) is not None:
        owner[place], place = owner[source], source
    owner[place] = row

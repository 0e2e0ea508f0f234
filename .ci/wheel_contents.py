"""Checks that a wheel ships two import names and that these are what the environment imports."""

import importlib.util
import sys
import zipfile

SHIPPED = {"asyncguard", "asyncguard_benchmark"}
# Folders of the checkout that a careless build would make importable.
UNSHIPPED = {"benchmark", "examples", "graphs", "performance", "tests"}


def main(wheel: str) -> None:
    """Raise SystemExit naming what is too much or missing."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    roots = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    if roots != SHIPPED:
        sys.exit(f"the wheel ships {sorted(roots)}, not {sorted(SHIPPED)}")
    for root in sorted(SHIPPED):
        spec = importlib.util.find_spec(root)
        if spec is None or "site-packages" not in str(spec.origin):
            sys.exit(
                f"{root} is not imported from the installed wheel but from {spec and spec.origin}"
            )
        if f"{root}/py.typed" not in names:
            sys.exit(f"{root}/py.typed is missing: its types would be invisible")
    if found := sorted(name for name in UNSHIPPED if importlib.util.find_spec(name)):
        sys.exit(f"importable from the installed wheel, but must not be: {found}")


main(sys.argv[1])

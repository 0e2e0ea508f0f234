"""JSON schemas of the results of tools, kept as data.

Fields carry the annotations that recovery may use. Limits are those of the business (no invoice is above 25,000 euros),
so that some values in a wrong unit fall outside and some do not.
"""

import json
from importlib.resources import files
from typing import Any

from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.services.state_shapes import record


def result_schemas(domain: Domain) -> dict[str, dict[str, Any]]:
    """Return the schemas of the results of a domain by their names; a file holds their fields, all required."""
    folder = files("asyncguard_benchmark.suites.hazards") / "data" / "results"
    data = folder / f"{domain.name.lower()}.json"
    fields = json.loads(data.read_text(encoding="utf-8"))
    return {name: record(**each) for name, each in fields.items()}

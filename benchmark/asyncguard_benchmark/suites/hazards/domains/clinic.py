"""CL: a clinic's appointments, laboratory values and prescriptions.

The daily dose of a patient is told by the register of prescriptions, by the pharmacy, and by the
chart of the ward, from whose entries it is computed; a value by the laboratory, by its analyser and
by the reference laboratory. The state changes only by calls.
"""

from fractions import Fraction
from typing import Annotated, Any, Literal

from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.services.arguments import ISO_DAY, Amount, Count, Few, Text
from asyncguard_benchmark.services.declarations import Remedies, State, tool
from asyncguard_benchmark.services.exact_numbers import exact, exact_sum, rounded
from asyncguard_benchmark.services.records import entry, fields_of, require, row_with
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.state_shapes import COUNT, NUMBER, WORD, record, rows, table
from asyncguard_benchmark.suites.hazards.domains.dates import days_after, not_before
from asyncguard_benchmark.suites.hazards.domains.effect_log import (
    EFFECTS_SCHEMA,
    perform,
    probe,
    probed,
)
from asyncguard_benchmark.suites.hazards.domains.questions import Question
from asyncguard_benchmark.suites.hazards.domains.result_rules import adds_up, echoes, product
from asyncguard_benchmark.suites.hazards.domains.result_schemas import result_schemas

_FILES = "clinic:{task_id}:files"
_REGISTER = "clinic:{task_id}:register"
_PHARMACY = "clinic:{task_id}:pharmacy"
_CHARTS = "clinic:{task_id}:charts"
_LAB = "clinic:{task_id}:lab"
_ANALYSER = "clinic:{task_id}:analyser"
_REFERENCE = "clinic:{task_id}:reference"
_ROOMS = "clinic:{task_id}:rooms"
_RULES = "clinic:{task_id}:rules"
_EFFECTS = "clinic:{task_id}:effects"
_MEASURED = {"sample_id": WORD, "value": NUMBER, "finding": WORD, "repeat_on": WORD, "as_of": WORD}
_LIMITS = record(soon_above=NUMBER, urgent_above=NUMBER)
_LOADS = ("light", "usual", "heavy")
"""Daily load of a medicine, from low to high."""
_URGENCIES = ("routine", "soon", "urgent")
"""Urgency of a letter."""
_RESULTS = result_schemas(Domain.CLINIC)
STATE_SCHEMA = record(
    today=WORD,
    files=table(record(patient_id=WORD, ward=WORD, weight_kg=NUMBER)),
    register=table(table(record(doses=rows(NUMBER), daily=NUMBER))),
    pharmacy=rows(record(handed_to=WORD, drug=WORD, doses=rows(NUMBER), per_day=NUMBER)),
    charts=table(table(rows(record(tablets=COUNT, tablet_mg=NUMBER)))),
    lab=table(table(record(**_MEASURED))),
    analyser=rows(record(drawn_from=WORD, analyte=WORD, **_MEASURED)),
    reference=table(table(record(**_MEASURED))),
    rooms=table(WORD),
    rules=record(
        usual_above_mg=NUMBER, heavy_above_mg=NUMBER, validity_days=COUNT, letters=table(_LIMITS)
    ),
    effects=EFFECTS_SCHEMA,
)
_ECHO = echoes("patient_id")

LabTest = Literal["creatinine", "bilirubin", "urate"]
Patient = Annotated[Text, "Number of the patient, as P000000."]
Medicine = Annotated[Text, "Name of the medicine, in lower case."]
Test = Annotated[LabTest, "What to look up."]
Day = Annotated[Text, "Day of the visit, as 2026-01-31.", ISO_DAY]


_MEDICATION = Question(
    askable={
        "prescribed_dose": ("patient_id", "medicine"),
        "dispensed_dose": ("handed_to", "drug"),
        "charted_dose": ("chart_of", "substance"),
    },
    trusted="prescribed_dose",
    returns=_RESULTS["doses"],
    echoed=("patient_id", "medicine"),
    compared=("/daily_mg",),
    derived_by="charted_dose",
    rules=(adds_up("daily_mg", "doses_mg"),),
)
_VALUES = Question(
    askable={
        "lab_value": ("patient_id", "test"),
        "analyser_value": ("drawn_from", "analyte"),
        "reference_value": ("sent_for", "parameter"),
    },
    trusted="reference_value",
    returns=_RESULTS["finding"],
    echoed=("patient_id", "test"),
    compared=("/value", "/finding", "/repeat_on", "/sample_id"),
    dated="/as_of",
    rules=(not_before("repeat_on", "as_of"),),
)


@tool(
    reads=(_FILES,),
    remedies=Remedies(returns=_RESULTS["file"], invariants=(echoes("file_number"),)),
)
def open_file(state: State, file_number: Annotated[Text, "Number of the file, as F-00000."]) -> Any:
    """Tells patient, ward and weight by the number of the file."""
    return {"file_number": file_number, **entry(state, "files", file_number, "file")}


def _doses(patient_id: str, medicine: str, doses: list[Any], total: Any) -> Any:
    return {
        "patient_id": patient_id,
        "medicine": medicine,
        "doses_mg": list(doses),
        "daily_mg": total,
    }


@tool(reads=(_REGISTER,), remedies=_MEDICATION.remedies)
def prescribed_dose(state: State, patient_id: Patient, medicine: Medicine) -> Any:
    """Tells a daily dose by the register of prescriptions."""
    entry = require(
        state["register"].get(patient_id, {}).get(medicine),
        f"No {medicine} is prescribed to {patient_id!r}.",
    )
    return _doses(patient_id, medicine, entry["doses"], entry["daily"])


@tool(reads=(_PHARMACY,), remedies=_MEDICATION.remedies)
def dispensed_dose(state: State, handed_to: Patient, drug: Medicine) -> Any:
    """Tells a daily dose by what the pharmacy handed out."""
    entry = require(
        row_with(state["pharmacy"], handed_to=handed_to, drug=drug),
        f"The pharmacy handed no {drug} to {handed_to!r}.",
    )
    return _doses(handed_to, drug, entry["doses"], entry["per_day"])


@tool(reads=(_CHARTS,), remedies=_MEDICATION.remedies)
def charted_dose(state: State, chart_of: Patient, substance: Medicine) -> Any:
    """Works out a daily dose from the ward's medication chart."""
    entries = require(
        state["charts"].get(chart_of, {}).get(substance),
        f"The chart of {chart_of!r} shows no {substance}.",
    )
    doses = [entry["tablets"] * exact(entry["tablet_mg"]) for entry in entries]
    return _doses(
        chart_of,
        substance,
        [rounded(dose, 2) for dose in doses],
        rounded(sum(doses, Fraction()), 2),
    )


def _finding(patient_id: str, test: str, found: Any) -> Any:
    found = require(found, f"No {test} of {patient_id!r} was measured.")
    return {"patient_id": patient_id, "test": test, **fields_of(found, _MEASURED)}


@tool(reads=(_LAB,), remedies=_VALUES.remedies)
def lab_value(state: State, patient_id: Patient, test: Test) -> Any:
    """Tells a value by the clinic's laboratory system."""
    return _finding(patient_id, test, state["lab"].get(patient_id, {}).get(test))


@tool(reads=(_ANALYSER,), remedies=_VALUES.remedies)
def analyser_value(state: State, drawn_from: Patient, analyte: Test) -> Any:
    """Tells a value by the records of the analyser."""
    rows_of = (
        row
        for row in state["analyser"]
        if (row["drawn_from"], row["analyte"]) == (drawn_from, analyte)
    )
    return _finding(
        drawn_from, analyte, max(rows_of, key=lambda row: str(row["as_of"]), default=None)
    )


@tool(reads=(_REFERENCE,), remedies=_VALUES.remedies)
def reference_value(state: State, sent_for: Patient, parameter: Test) -> Any:
    """Tells a value by the reference laboratory."""
    return _finding(sent_for, parameter, state["reference"].get(parameter, {}).get(sent_for))


@tool(
    reads=(_RULES,),
    remedies=Remedies(
        returns=_RESULTS["course"],
        invariants=(adds_up("per_day_mg", "daily_mg"), product("course_mg", "per_day_mg", "days")),
    ),
)
def plan_course(
    state: State,
    daily_mg: Annotated[
        Few[Annotated[Amount, {"unit": "mg"}, "Milligrams."]], "Daily doses to add up."
    ],
    days: Annotated[Count, "How many days."],
) -> Any:
    """Adds up daily doses, works out a course of some days, and tells how heavy a day's dose is."""
    rules = state["rules"]
    total = exact_sum(daily_mg)
    grade = sum(total > exact(rules[limit]) for limit in ("usual_above_mg", "heavy_above_mg"))
    return {
        "daily_mg": daily_mg,
        "per_day_mg": rounded(total, 2),
        "days": days,
        "course_mg": rounded(total * days, 2),
        "load": _LOADS[grade],
    }


@tool(
    reads=(_ROOMS, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(
        returns=_RESULTS["appointment"], probe="appointment_record", invariants=(_ECHO,)
    ),
)
def book_appointment(state: State, patient_id: Patient, visit_on: Day) -> Any:
    """Books an appointment for a patient; books it again when called again."""
    room = entry(state, "rooms", patient_id, "patient")
    content = {"patient_id": patient_id, "visit_on": visit_on, "room": room}
    return perform(state, "book_appointment", "appointment_id", "AP", content)


@tool(reads=(_EFFECTS,), remedies=Remedies(returns=probed(_RESULTS["appointment"])))
def appointment_record(state: State, patient_id: Patient, visit_on: Day) -> Any:
    """Tells whether an appointment was booked for a patient and a day."""
    return probe(state, "book_appointment", patient_id=patient_id, visit_on=visit_on)


@tool(
    reads=(_ROOMS, _RULES, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(
        returns=_RESULTS["prescription"],
        probe="prescription_record",
        invariants=(_ECHO, echoes("medicine")),
    ),
)
def issue_prescription(
    state: State,
    patient_id: Patient,
    medicine: Medicine,
    daily_mg: Annotated[Amount, {"unit": "mg"}, "Milligrams a day."],
) -> Any:
    """Issues a prescription; issues another one when called again."""
    entry(state, "rooms", patient_id, "patient")
    valid_until = days_after(state["today"], state["rules"]["validity_days"])
    content = {
        "patient_id": patient_id,
        "medicine": medicine,
        "daily_mg": daily_mg,
        "valid_until": valid_until,
    }
    return perform(state, "issue_prescription", "prescription_id", "RX", content)


@tool(reads=(_EFFECTS,), remedies=Remedies(returns=probed(_RESULTS["prescription"])))
def prescription_record(state: State, patient_id: Patient, medicine: Medicine) -> Any:
    """Tells whether a prescription of a medicine was issued today."""
    return probe(state, "issue_prescription", patient_id=patient_id, medicine=medicine)


@tool(
    reads=(_ROOMS, _RULES, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(returns=_RESULTS["letter"], invariants=(_ECHO, echoes("test"))),
)
def send_letter(
    state: State,
    patient_id: Patient,
    test: Annotated[LabTest, "What was measured."],
    value: Annotated[Amount, {"unit": "umol/l"}, "Micromoles per litre."],
) -> Any:
    """Writes to the family doctor about a value, as fast as the value demands."""
    entry(state, "rooms", patient_id, "patient")
    limits = state["rules"]["letters"][test]
    grade = sum(value > limits[limit] for limit in ("soon_above", "urgent_above"))
    content = {"patient_id": patient_id, "test": test, "value": value, "urgency": _URGENCIES[grade]}
    return perform(state, "send_letter", "letter_id", "LT", content)


TOOLSET = toolset(
    Domain.CLINIC,
    STATE_SCHEMA,
    (
        prescribed_dose,
        dispensed_dose,
        charted_dose,
        lab_value,
        analyser_value,
        reference_value,
        open_file,
        plan_course,
        book_appointment,
        appointment_record,
        issue_prescription,
        prescription_record,
        send_letter,
    ),
)

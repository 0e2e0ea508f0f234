"""CL: a clinic's appointments, laboratory values and prescriptions.

The daily dose of a patient is told by the register of prescriptions, by the pharmacy, and by the
chart of the ward, from whose entries it is computed; a value by the laboratory, by its analyser and
by the reference laboratory. The state changes only by calls.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.services.declarations import Remedies, State, Tool, choice, text, whole
from asyncguard_benchmark.services.exact_numbers import exact, rounded
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.service_tools import reader, writer
from asyncguard_benchmark.services.state_shapes import COUNT, NUMBER, WORD, record, rows, table
from asyncguard_benchmark.suites.hazards.domains.clinic_results import (
    APPOINTMENT,
    COURSE,
    DOSES,
    FILE,
    FINDING,
    LETTER,
    LOADS,
    PRESCRIPTION,
    TESTS,
    URGENCIES,
)
from asyncguard_benchmark.suites.hazards.domains.dates import a_day, days_after, not_before
from asyncguard_benchmark.suites.hazards.domains.effect_log import (
    EFFECTS_SCHEMA,
    perform,
    probe,
    probed,
)
from asyncguard_benchmark.suites.hazards.domains.questions import Question
from asyncguard_benchmark.suites.hazards.domains.result_rules import adds_up, echoes, product

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


def _open_file(state: State, file_number: str) -> Any:
    if file_number not in state["files"]:
        raise ToolFailure(f"There is no file {file_number!r}.")
    return {"file_number": file_number, **state["files"][file_number]}


def _doses(patient_id: str, medicine: str, doses: list[Any], total: Any) -> Any:
    return {
        "patient_id": patient_id,
        "medicine": medicine,
        "doses_mg": list(doses),
        "daily_mg": total,
    }


def _prescribed_dose(state: State, patient_id: str, medicine: str) -> Any:
    entry = state["register"].get(patient_id, {}).get(medicine)
    if entry is None:
        raise ToolFailure(f"No {medicine} is prescribed to {patient_id!r}.")
    return _doses(patient_id, medicine, entry["doses"], entry["daily"])


def _dispensed_dose(state: State, handed_to: str, drug: str) -> Any:
    for entry in state["pharmacy"]:
        if (entry["handed_to"], entry["drug"]) == (handed_to, drug):
            return _doses(handed_to, drug, entry["doses"], entry["per_day"])
    raise ToolFailure(f"The pharmacy handed no {drug} to {handed_to!r}.")


def _charted_dose(state: State, chart_of: str, substance: str) -> Any:
    entries = state["charts"].get(chart_of, {}).get(substance)
    if entries is None:
        raise ToolFailure(f"The chart of {chart_of!r} shows no {substance}.")
    doses = [entry["tablets"] * exact(entry["tablet_mg"]) for entry in entries]
    return _doses(
        chart_of,
        substance,
        [rounded(dose, 2) for dose in doses],
        rounded(sum(doses, Fraction()), 2),
    )


def _finding(patient_id: str, test: str, found: Any) -> Any:
    if found is None:
        raise ToolFailure(f"No {test} of {patient_id!r} was measured.")
    return {"patient_id": patient_id, "test": test, **{name: found[name] for name in _MEASURED}}


def _lab_value(state: State, patient_id: str, test: str) -> Any:
    return _finding(patient_id, test, state["lab"].get(patient_id, {}).get(test))


def _analyser_value(state: State, drawn_from: str, analyte: str) -> Any:
    rows_of = (
        row
        for row in state["analyser"]
        if (row["drawn_from"], row["analyte"]) == (drawn_from, analyte)
    )
    return _finding(
        drawn_from, analyte, max(rows_of, key=lambda row: str(row["as_of"]), default=None)
    )


def _reference_value(state: State, sent_for: str, parameter: str) -> Any:
    return _finding(sent_for, parameter, state["reference"].get(parameter, {}).get(sent_for))


def _plan_course(state: State, daily_mg: list[float], days: int) -> Any:
    rules = state["rules"]
    total = sum(map(exact, daily_mg), Fraction())
    grade = sum(total > exact(rules[limit]) for limit in ("usual_above_mg", "heavy_above_mg"))
    return {
        "daily_mg": daily_mg,
        "per_day_mg": rounded(total, 2),
        "days": days,
        "course_mg": rounded(total * days, 2),
        "load": LOADS[grade],
    }


def _known(state: State, patient_id: str) -> None:
    if patient_id not in state["rooms"]:
        raise ToolFailure(f"There is no patient {patient_id!r}.")


def _book_appointment(state: State, patient_id: str, visit_on: str) -> Any:
    _known(state, patient_id)
    content = {"patient_id": patient_id, "visit_on": visit_on, "room": state["rooms"][patient_id]}
    return perform(state, "book_appointment", "appointment_id", "AP", content)


def _appointment_record(state: State, patient_id: str, visit_on: str) -> Any:
    return probe(state, "book_appointment", patient_id=patient_id, visit_on=visit_on)


def _issue_prescription(state: State, patient_id: str, medicine: str, daily_mg: float) -> Any:
    _known(state, patient_id)
    valid_until = days_after(state["today"], state["rules"]["validity_days"])
    content = {
        "patient_id": patient_id,
        "medicine": medicine,
        "daily_mg": daily_mg,
        "valid_until": valid_until,
    }
    return perform(state, "issue_prescription", "prescription_id", "RX", content)


def _prescription_record(state: State, patient_id: str, medicine: str) -> Any:
    return probe(state, "issue_prescription", patient_id=patient_id, medicine=medicine)


def _send_letter(state: State, patient_id: str, test: str, value: float) -> Any:
    _known(state, patient_id)
    limits = state["rules"]["letters"][test]
    grade = sum(value > limits[limit] for limit in ("soon_above", "urgent_above"))
    content = {"patient_id": patient_id, "test": test, "value": value, "urgency": URGENCIES[grade]}
    return perform(state, "send_letter", "letter_id", "LT", content)


_MEDICATION = Question(
    askable={
        "prescribed_dose": ("patient_id", "medicine"),
        "dispensed_dose": ("handed_to", "drug"),
        "charted_dose": ("chart_of", "substance"),
    },
    trusted="prescribed_dose",
)
_VALUES = Question(
    askable={
        "lab_value": ("patient_id", "test"),
        "analyser_value": ("drawn_from", "analyte"),
        "reference_value": ("sent_for", "parameter"),
    },
    trusted="reference_value",
)
_PATIENT = text("Number of the patient, as P000000.")
_MEDICINE = text("Name of the medicine, in lower case.")
_TEST = choice("What to look up.", TESTS)
_DAY = a_day("Day of the visit, as 2026-01-31.")
_ECHO = echoes("patient_id", "patient_id")


def _tells_dose(name: str, description: str, run: Any, resource: str) -> Tool:
    patient, medicine = _MEDICATION.askable[name]
    remedies = Remedies(
        returns=DOSES,
        fallbacks=_MEDICATION.others(name),
        sources=_MEDICATION.others(name),
        compared=("/daily_mg",),
        verifier=None if name == "charted_dose" else _MEDICATION.instead_of(name, "charted_dose"),
        invariants=(
            adds_up("daily_mg", "doses_mg"),
            echoes(patient, "patient_id"),
            echoes(medicine, "medicine"),
        ),
    )
    named = {patient: _PATIENT, medicine: _MEDICINE}
    return replace(reader(name, description, run, (resource,), **named), remedies=remedies)


def _tells_value(name: str, description: str, run: Any, resource: str) -> Tool:
    patient, test = _VALUES.askable[name]
    remedies = Remedies(
        returns=FINDING,
        fallbacks=_VALUES.others(name),
        sources=_VALUES.others(name),
        compared=("/value", "/finding", "/repeat_on", "/sample_id"),
        dated="/as_of",
        invariants=(
            not_before("repeat_on", "as_of"),
            echoes(patient, "patient_id"),
            echoes(test, "test"),
        ),
    )
    return replace(
        reader(name, description, run, (resource,), **{patient: _PATIENT, test: _TEST}),
        remedies=remedies,
    )


_LOOKING_UP = (
    replace(
        reader(
            "open_file",
            "Tells patient, ward and weight by the number of the file.",
            _open_file,
            (_FILES,),
            file_number=text("Number of the file, as F-00000."),
        ),
        remedies=Remedies(returns=FILE, invariants=(echoes("file_number", "file_number"),)),
    ),
    replace(
        reader(
            "plan_course",
            "Adds up daily doses, works out a course of some days, and tells how heavy a day's dose is.",
            _plan_course,
            (_RULES,),
            daily_mg={
                "type": "array",
                "items": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "unit": "mg",
                    "description": "Milligrams.",
                },
                "minItems": 1,
                "maxItems": 50,
                "description": "Daily doses to add up.",
            },
            days=whole("How many days."),
        ),
        remedies=Remedies(
            returns=COURSE,
            invariants=(
                adds_up("per_day_mg", "daily_mg"),
                product("course_mg", "per_day_mg", "days"),
            ),
        ),
    ),
)
_ACTING = (
    replace(
        writer(
            "book_appointment",
            "Books an appointment for a patient; books it again when called again.",
            _book_appointment,
            (_ROOMS, _EFFECTS),
            (_EFFECTS,),
            patient_id=_PATIENT,
            visit_on=_DAY,
        ),
        remedies=Remedies(returns=APPOINTMENT, probe="appointment_record", invariants=(_ECHO,)),
    ),
    replace(
        reader(
            "appointment_record",
            "Tells whether an appointment was booked for a patient and a day.",
            _appointment_record,
            (_EFFECTS,),
            patient_id=_PATIENT,
            visit_on=_DAY,
        ),
        remedies=Remedies(returns=probed(APPOINTMENT)),
    ),
    replace(
        writer(
            "issue_prescription",
            "Issues a prescription; issues another one when called again.",
            _issue_prescription,
            (_ROOMS, _RULES, _EFFECTS),
            (_EFFECTS,),
            patient_id=_PATIENT,
            medicine=_MEDICINE,
            daily_mg={
                "type": "number",
                "exclusiveMinimum": 0,
                "unit": "mg",
                "description": "Milligrams a day.",
            },
        ),
        remedies=Remedies(
            returns=PRESCRIPTION,
            probe="prescription_record",
            invariants=(_ECHO, echoes("medicine", "medicine")),
        ),
    ),
    replace(
        reader(
            "prescription_record",
            "Tells whether a prescription of a medicine was issued today.",
            _prescription_record,
            (_EFFECTS,),
            patient_id=_PATIENT,
            medicine=_MEDICINE,
        ),
        remedies=Remedies(returns=probed(PRESCRIPTION)),
    ),
    replace(
        writer(
            "send_letter",
            "Writes to the family doctor about a value, as fast as the value demands.",
            _send_letter,
            (_ROOMS, _RULES, _EFFECTS),
            (_EFFECTS,),
            patient_id=_PATIENT,
            test=choice("What was measured.", TESTS),
            value={
                "type": "number",
                "exclusiveMinimum": 0,
                "unit": "umol/l",
                "description": "Micromoles per litre.",
            },
        ),
        remedies=Remedies(returns=LETTER, invariants=(_ECHO, echoes("test", "test"))),
    ),
)

TOOLSET = toolset(
    Domain.CLINIC,
    STATE_SCHEMA,
    (
        _tells_dose(
            "prescribed_dose",
            "Tells a daily dose by the register of prescriptions.",
            _prescribed_dose,
            _REGISTER,
        ),
        _tells_dose(
            "dispensed_dose",
            "Tells a daily dose by what the pharmacy handed out.",
            _dispensed_dose,
            _PHARMACY,
        ),
        _tells_dose(
            "charted_dose",
            "Works out a daily dose from the ward's medication chart.",
            _charted_dose,
            _CHARTS,
        ),
        _tells_value(
            "lab_value", "Tells a value by the clinic's laboratory system.", _lab_value, _LAB
        ),
        _tells_value(
            "analyser_value",
            "Tells a value by the records of the analyser.",
            _analyser_value,
            _ANALYSER,
        ),
        _tells_value(
            "reference_value",
            "Tells a value by the reference laboratory.",
            _reference_value,
            _REFERENCE,
        ),
        *_LOOKING_UP,
        *_ACTING,
    ),
)

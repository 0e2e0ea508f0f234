"""JSON schemas of the results of the clinic's tools."""

from asyncguard_benchmark.services.state_shapes import record
from asyncguard_benchmark.suites.hazards.domains.result_fields import (
    code,
    day,
    one_of,
    quantity,
    several,
    tally,
)

TESTS = ("creatinine", "bilirubin", "urate")
"""Laboratory values, all in the same unit."""
_TEST_NAMES = {
    "CREA": "creatinine",
    "serum creatinine": "creatinine",
    "TBIL": "bilirubin",
    "uric acid": "urate",
}
_FINDINGS = ("low", "normal", "high")
_FINDING_NAMES = {"L": "low", "within range": "normal", "H": "high", "elevated": "high"}
LOADS = ("light", "usual", "heavy")
"""Daily load of a medicine, from low to high."""
_LOAD_NAMES = {"minimal": "light", "standard": "usual", "maximal": "heavy"}
URGENCIES = ("routine", "soon", "urgent")
"""Urgency of a letter."""
_URGENCY_NAMES = {"by post": "routine", "priority": "soon", "stat": "urgent"}

_PATIENT = code("Number of the patient.", "P[0-9]{6}", ("patient_number", "mrn"))
_MEDICINE = code("Name of the medicine.", "[a-z]+", ("drug", "substance"))
_DAILY = quantity("Dose of a day.", 10, 4_000, unit="mg", aliases=("daily_dose", "dose_per_day"))
_TEST = one_of("What was measured.", TESTS, _TEST_NAMES)
_VALUE = quantity(
    "Concentration in the blood.", 4, 900, unit="umol/l", aliases=("result", "concentration")
)

FILE = record(
    file_number=code("Number of the file.", "F-[0-9]{5}", ("record_no",)),
    patient_id=_PATIENT,
    ward=code("Ward, as its code.", "W[0-9]{2}[A-Z]", ("unit_code",)),
    weight_kg=quantity("Weight of the patient.", 2, 250, unit="kg", aliases=("body_weight",)),
)
"""The patient of a file."""
DOSES = record(
    patient_id=_PATIENT,
    medicine=_MEDICINE,
    doses_mg=several("Doses over the day.", quantity("A dose.", 0, 1_000_000, unit="mg")),
    daily_mg=_DAILY,
)
"""Daily dose of a medicine."""
FINDING = record(
    patient_id=_PATIENT,
    test=_TEST,
    sample_id=code("Number of the sample.", "B[0-9]{2}-[0-9]{5}", ("specimen_id", "barcode")),
    value=_VALUE,
    finding=one_of("Against the range of healthy people.", _FINDINGS, _FINDING_NAMES),
    repeat_on=day("Day on which to measure again.", ("next_test", "control_date")),
    as_of=day("Day of the measurement.", ("measured_on", "resulted_on")),
)
"""A value of the laboratory."""
COURSE = record(
    daily_mg=several("Doses of a day.", quantity("A daily dose.", 0, 1_000_000, unit="mg")),
    per_day_mg=quantity("Their sum.", 10, 12_000, unit="mg", aliases=("sum_mg",)),
    days=tally("How long.", 1, 365, unit="d", aliases=("duration",)),
    course_mg=quantity("All of it.", 10, 400_000, unit="mg", aliases=("total_mg",)),
    load=one_of("How much a day brings.", LOADS, _LOAD_NAMES),
)
"""Daily load of a course of treatment."""
APPOINTMENT = record(
    appointment_id=code(
        "Number of the appointment.", "AP-[0-9]{5}", ("appointment_ref", "slot_id")
    ),
    patient_id=_PATIENT,
    visit_on=day("Day of the visit.", ("appointment_date", "scheduled_for")),
    room=code("Room, as its code.", "R[0-9]{3}", ("room_no", "location")),
)
"""A booked appointment."""
PRESCRIPTION = record(
    prescription_id=code("Number of the prescription.", "RX-[0-9]{5}", ("rx_number",)),
    patient_id=_PATIENT,
    medicine=_MEDICINE,
    daily_mg=_DAILY,
    valid_until=day("Last day on which a pharmacy takes it.", ("expires_on", "expiry_date")),
)
"""An issued prescription."""
LETTER = record(
    letter_id=code("Number of the letter.", "LT-[0-9]{5}", ("letter_ref",)),
    patient_id=_PATIENT,
    test=_TEST,
    value=_VALUE,
    urgency=one_of("How fast it goes out.", URGENCIES, _URGENCY_NAMES),
)
"""A letter about a value."""

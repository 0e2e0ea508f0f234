"""DG: functions that make data: series, labels, codes with check digits, draws from a seed, dates, rotas, fixtures.

No state and no chance: what looks drawn depends on the seed that was given, and on nothing else.
"""

from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services import generated_plans as plans
from asyncguard_benchmark.services import generated_values as values
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.state_shapes import NO_STATE

TOOLSET = toolset(
    Category.DATA_GENERATION,
    NO_STATE,
    (
        values.number_series,
        values.growth_series,
        values.spread_points,
        plans.date_series,
        values.serial_labels,
        values.grid_labels,
        values.crossed_labels,
        values.fill_pattern,
        values.title_slug,
        values.content_key,
        values.check_code,
        values.seeded_shuffle,
        values.seeded_draw,
        values.seeded_integers,
        values.choose_groups,
        plans.month_sheet,
        plans.duty_rota,
        plans.fixture_rounds,
        plans.time_slots,
        plans.instalment_plan,
    ),
)

"""Plausible findings of an ablation, for tests of what is made of them. The figures are invented."""

from asyncguard_benchmark.harness.ablation import findings as fd
from asyncguard_benchmark.harness.arms import ALL, ARMS, LEAVE_ONE_OUT, NONE, ONE_IN

GUARDS = ("arguments", "scope", "duplicate", "grounding", "dependency", "conflict", "completion")


def around(value: float, spread: float = 3.0) -> fd.Interval:
    """An interval about a value."""
    return fd.Interval(value=value, low=value - spread, high=value + spread)


def share(value: float, spread: float = 3.0) -> fd.Interval:
    """An interval about a share in per cent, within its bounds."""
    return fd.Interval(value=value, low=max(0.0, value - spread), high=min(100.0, value + spread))


def setup(agent: str = "eager", regime: str = "fixed1", player: str = "graph") -> fd.Setup:
    """A condition."""
    return fd.Setup(agent=agent, player=player, regime=regime, surface="text", declared=True)


def arm(
    name: str, overall: float | None, kind: fd.ArmKind = fd.ArmKind.ONE_IN, *, errors: int = 0
) -> fd.ArmFigures:
    """The figures of an arm; an arm without data has no overall."""
    known = overall is not None
    return fd.ArmFigures(
        arm=name,
        kind=kind,
        episodes=712 - errors if known else 0,
        errors=errors,
        valid=errors <= 14,
        overall=share(overall) if overall is not None else None,
        accuracy=share(min(100.0, overall + 12)) if overall is not None else None,
        rounds=9.5 if known else None,
        ticks=10.25 if known else None,
        characters=41_000.0 if known else None,
        premature_needed=1.5 if known else None,
        interventions={}
        if name == NONE
        else {"grounding": 530, "dependency": 210, "completion": 40},
        config=ARMS[name].config.to_json() if name in ARMS else {},
    )


def effect(
    name: str, against: str, points: float, *, family: str = "arms against none"
) -> fd.Effect:
    """An effect of so many points."""
    moved = round(abs(points) * 7.12)
    return fd.Effect(
        arm=name,
        against=against,
        pairs=712,
        against_value=4.0 if against == NONE else 92.0,
        difference=around(points, 2.4),
        standard_error=1.2,
        naive_error=0.9,
        p=0.0004 if abs(points) > 2.4 else 0.41,
        p_family=0.004 if abs(points) > 2.4 else 0.98,
        family=family,
        rounds=around(1.5, 0.25),
        ticks=around(0.75, 0.25),
        mcnemar=fd.McNemar(
            gained=moved if points > 0 else 1,
            lost=moved if points < 0 else 1,
            p=0.0001 if moved > 6 else 0.5,
        ),
        harm=_harm(points),
    )


def _harm(points: float) -> fd.HarmVerdict:
    if points - 2.4 > -fd.MARGIN:
        return fd.HarmVerdict.HARMLESS
    return fd.HarmVerdict.HARMFUL if points + 2.4 < 0 else fd.HarmVerdict.UNDECIDED


def study(agent: str = "eager", regime: str = "fixed1", player: str = "graph") -> fd.Study:
    """All arms in one setup: grounding and dependency carry the effect."""
    one_in = {name: 60.0 if name == "only-grounding" else 8.0 for name in ONE_IN}
    left_out = {name: 20.0 if name == "without-grounding" else 92.0 for name in LEAVE_ONE_OUT}
    arms = (
        arm(NONE, 4.0, fd.ArmKind.REFERENCE),
        arm(ALL, 92.0, fd.ArmKind.REFERENCE),
        arm("timing", 88.0, fd.ArmKind.FAMILY),
        *(arm(name, overall) for name, overall in one_in.items()),
        *(arm(name, overall, fd.ArmKind.LEAVE_ONE_OUT) for name, overall in left_out.items()),
        arm("sham", 3.5, fd.ArmKind.SHAM, errors=3),
        arm("only-broken", None, fd.ArmKind.CONTROL, errors=712),
    )
    effects = (
        effect(ALL, NONE, 88.0),
        effect("timing", NONE, 84.0),
        *(effect(name, NONE, overall - 4) for name, overall in one_in.items()),
        *(
            effect(name, ALL, overall - 92, family="one left out")
            for name, overall in left_out.items()
        ),
    )
    return fd.Study(
        setup=setup(agent, regime, player),
        arms=arms,
        effects=effects,
        shapley=shapley(),
        sham=fd.Sham(
            effect=effect("sham", NONE, -0.5),
            beside_features=effect("sham", "features", 0.25, family="sham against features"),
            rejections_wanted=530,
            rejections_made=512,
        ),
        same=(effect(ALL, f"{ALL}@1", 0.25, family="the same again"),),
        flips=(
            fd.Flip(composition="S2-001", seed=0, arm=ALL, against=NONE, gained=True),
            fd.Flip(composition="C3-014", seed=0, arm=ALL, against=NONE, gained=False),
        ),
    )


def shapley() -> fd.Shapley:
    """Values that add up to the whole effect."""
    points = {"grounding": 61.0, "dependency": 20.0, "completion": 7.0}
    values = tuple(
        fd.ShapleyValue(switch=name, value=around(points.get(name, 0.0), 2.0)) for name in GUARDS
    )
    return fd.Shapley(
        none=4.0,
        all=92.0,
        values=values,
        base={"ledger": True, "waiting": True},
        coalitions=91_136,
        played=4_410,
    )


def four_cells(agent: str = "eager") -> fd.FourCells:
    """Delay costs 70 points, of which timing guards win most back."""
    return fd.FourCells(
        setup=setup(agent),
        unguarded_sync=share(74.0),
        guarded_sync=share(95.0),
        unguarded_delayed=share(4.0),
        guarded_delayed=share(92.0),
        timing_delayed=share(68.0),
        gap=around(70.0),
        closed_by_timing=around(91.4, 4.0),
        closed_by_all=around(125.7, 5.0),
        interaction=around(67.0),
    )


def shadow(agent: str = "eager") -> fd.Shadow:
    """Guards beside unguarded runs; one never objects, so that its precision is unknown."""
    guards = tuple(
        fd.GuardDetections(
            guard=name,
            rejections=0 if name == "scope" else 120,
            deferrals=60 if name == "dependency" else 0,
            detections=tuple(
                fd.Detection(
                    truth=truth,
                    positives=200,
                    hits=0 if name == "scope" else 90,
                    precision=None if name == "scope" else share(75.0),
                    recall=share(0.0 if name == "scope" else 45.0),
                )
                for truth in fd.Truth
            ),
        )
        for name in GUARDS
    )
    return fd.Shadow(setup=setup(agent), episodes=712, calls=5_100, guards=guards)


def wild() -> fd.Wild:
    """The oracle on derived values."""
    return fd.Wild(
        setup=setup("oracle"),
        episodes=60,
        calls=410,
        guards=tuple(
            fd.FalseAlarms(
                guard=name,
                rejections=3 if name == "grounding" else 0,
                deferrals=0,
                nudges=0,
                rate=share(0.7 if name == "grounding" else 0.0, 1.0),
            )
            for name in GUARDS
        ),
        unguarded=share(100.0),
        guarded=share(100.0),
        difference=around(0.0, 0.5),
        harm=fd.HarmVerdict.HARMLESS,
    )


def findings(*agents: str) -> fd.Findings:
    """The whole, for these agents (eager and oracle by default)."""
    names = agents or ("eager", "oracle")
    points = tuple(
        fd.CompliancePoint(
            compliance=rate,
            unguarded=share(20.0),
            guarded=share(20 + 40 * rate),
            difference=around(40 * rate),
        )
        for rate in (0.0, 0.25, 0.5, 0.75, 1.0)
    )
    return fd.Findings(
        settings=fd.Settings(
            version="0.1.0",
            command="asyncguard bench ablate --agents eager,oracle",
            suite="main",
            compositions=712,
            sub_tasks=1_884,
            sources=358,
            seeds=(0,),
            data="0123456789abcdef",
            configs={ALL: "aaaaaaaaaaaaaaaa", NONE: "bbbbbbbbbbbbbbbb"},
            resamples=2_000,
        ),
        studies=tuple(study(name, regime) for name in names for regime in ("sync", "fixed1")),
        four_cells=tuple(four_cells(name) for name in names),
        shadow=tuple(shadow(name) for name in names),
        wild=(wild(),),
        compliance=(fd.ComplianceSweep(setup=setup("persona:example"), points=points),),
        ensembles=(
            fd.EnsembleEffect(
                ensemble="persona:example",
                setup=setup("persona:example"),
                arm=ALL,
                against=NONE,
                members=20,
                low=11.0,
                median=14.5,
                high=19.0,
                harmful=0,
            ),
        ),
    )

"""Reservations in small random workloads, when pods end exactly at their declared time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.session.session import Session
from stromboli.kube.objects.timestamps import ARRIVES_AFTER, RUN_TIME
from stromboli.simulator.measurements import JobTimeline, SimulationMeasurements
from stromboli.simulator.simulation import Simulation
from tests.testing.cases.case import configuration
from tests.testing.manifests.builders import Manifest, gang_of, node, pod
from tests.testing.random_clusters.effort import examples
from tests.testing.simulations import job, simulate, simulation, strategy

#: A job: number of pods, cpu of each, run time in minutes, and minute of arrival.
Shape = tuple[int, int, int, int]
shapes = st.lists(
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 12), st.integers(0, 9)), min_size=2, max_size=9
)
sizes = st.lists(st.integers(1, 5), min_size=1, max_size=4)


def in_order(jobs: list[Shape]) -> list[Shape]:
    """Sort by arrival; names break ties."""
    return sorted(jobs, key=lambda shape: shape[3])


def manifests(jobs: list[Shape], cpus: list[int]) -> list[Manifest]:
    nodes = [node(letter, cpu) for letter, cpu in zip("abcd", cpus, strict=False)]
    return nodes + [each for n, shape in enumerate(jobs) for each in job(f"job-{n}", *shape)]


def first_to_wait(measured: SimulationMeasurements) -> JobTimeline | None:
    """Return the first job that had to wait at the head of the order."""
    waited = [record for record in measured.jobs.values() if record.reserved is not None]
    return min(waited, key=lambda record: (record.arrived, record.key), default=None)


@examples(60)
@given(jobs=shapes, cpus=sizes)
def test_first_waiting_job_is_not_delayed_by_later_jobs(jobs: list[Shape], cpus: list[int]) -> None:
    jobs = in_order(jobs)
    measured = simulate(manifests(jobs, cpus), conf=strategy("easy"))
    head = first_to_wait(measured)
    if head is None:
        return
    place = int(head.key.rpartition("-")[2])
    alone = simulate(manifests(jobs[: place + 1], cpus), conf=strategy("easy")).jobs[head.key]
    assert head.started is not None
    assert alone.started is not None
    assert head.started <= alone.started
    assert head.started <= (head.reserved or 0)


@examples(60)
@given(jobs=shapes, cpus=sizes)
def test_no_job_starts_later_than_first_reserved(jobs: list[Shape], cpus: list[int]) -> None:
    measured = simulate(manifests(in_order(jobs), cpus), conf=strategy("conservative"))
    late = {
        key: (record.reserved, record.started)
        for key, record in measured.jobs.items()
        if record.reserved is not None and (record.started is None or record.started > record.reserved)
    }
    assert late == {}


#: A gang of different pods: the cpu of each, whether the first requires node a, run time in minutes, and arrival.
Mixture = tuple[list[int], bool, int, int]
mixtures = st.lists(
    st.tuples(
        st.lists(st.integers(1, 4), min_size=1, max_size=4), st.booleans(), st.integers(1, 12), st.integers(0, 9)
    ),
    min_size=2,
    max_size=8,
)


def mixed(place: int, mixture: Mixture) -> list[Manifest]:
    cpus, is_bound, run, after = mixture
    notes = {RUN_TIME: f"{run}m", **({ARRIVES_AFTER: f"{after}m"} if after else {})}
    pods = [pod(cpu, annotations=notes) for cpu in cpus]
    if is_bound:
        pods[0]["spec"]["nodeSelector"] = {"host": "a"}
    return gang_of(*pods, name=f"job-{place}")


@examples(40)
@given(jobs=mixtures, cpus=sizes, scorer=st.sampled_from(["nodeorder", "binpack"]))
def test_reservations_of_heterogeneous_gangs_are_kept(jobs: list[Mixture], cpus: list[int], scorer: str) -> None:
    """If the usual node choice fails at the reserved time, the reserved nodes are used."""
    jobs = sorted(jobs, key=lambda mixture: mixture[3])
    nodes = [node(letter, cpu, labels={"host": letter}) for letter, cpu in zip("abcd", cpus, strict=False)]
    arguments = {"backfill": {"strategy": "conservative"}}
    conf = configuration("gang", "predicates", scorer, actions="allocate, backfill", arguments=arguments)
    measured = simulate(nodes, [mixed(place, each) for place, each in enumerate(jobs)], conf=conf)
    for record in measured.jobs.values():
        if record.reserved is not None:
            assert record.started is not None
            assert record.started <= record.reserved


@examples(40)
@given(jobs=shapes, cpus=sizes, name=st.sampled_from(["easy", "conservative"]))
def test_every_job_that_fits_the_cluster_starts(jobs: list[Shape], cpus: list[int], name: str) -> None:
    """No job waits indefinitely behind a reservation."""
    measured = simulate(manifests(in_order(jobs), cpus), conf=strategy(name))
    for record in measured.jobs.values():
        count, cpu, _, _ = in_order(jobs)[int(record.key.rpartition("-")[2])]
        assert (record.started is not None) == (sum(size // cpu for size in cpus[:4]) >= count)


@examples(40)
@given(jobs=shapes, cpus=sizes, name=st.sampled_from(["easy", "conservative"]))
def test_no_reserved_capacity_remains_after_a_cycle(jobs: list[Shape], cpus: list[int], name: str) -> None:
    """After a cycle the ledger contains no trace of reservations."""
    run = simulation(manifests(in_order(jobs), cpus), conf=strategy(name))
    _check_books(run)
    run.run()


def _check_books(run: Simulation) -> None:
    decide = run.virtual_cluster.decide

    def checked() -> Session:
        session = decide()
        ledger = session.ledger
        layout, size = ledger.layout, ledger.layout.resources
        placed = sum(len(statement) for statement in session.decisions.binds)
        assert not ledger.nominated.any()
        assert not ledger.amounts[layout.releasing : layout.allocatable].any()
        whole = ledger.amounts[:size] + ledger.amounts[layout.used : layout.used + size]
        assert (whole == ledger.amounts[layout.allocatable :]).all()
        assert placed == sum(
            1 for job in session.jobs.values() for task in job.tasks.values() if _is_new(session, task)
        )
        return session

    run.virtual_cluster.decide = checked  # type: ignore[method-assign]


def _is_new(session: Session, task: object) -> bool:
    return session.ledger.status_of(task).label == "Binding"  # type: ignore[arg-type]

"""Traces, runs and comparisons of the Python API."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import stromboli as sb
from stromboli.api import Job, Key, Plugin
from stromboli.lab.extra import MissingExtra
from stromboli.traces.trace import TraceError

EASY = sb.Policy(["gang", "predicates"], arguments={"backfill": {"strategy": "easy"}}, name="easy")
FCFS = sb.Policy(["gang", "predicates"], arguments={"allocate": {"strict": True}}, name="fcfs")


@pytest.fixture(scope="module")
def trace() -> sb.Trace:
    return sb.Trace.lublin(120, processors=32, seed=1)


@pytest.fixture(scope="module")
def run(trace: sb.Trace) -> sb.Run:
    return sb.simulate(trace, EASY, seed=1, layout="pool")


def test_jobs_are_tables_of_three_libraries(run: sb.Run) -> None:
    arrow, pandas, polars = run.jobs.to_arrow(), run.jobs.to_pandas(), run.jobs.to_polars()
    assert arrow.num_rows == len(pandas) == len(polars) == len(run.jobs) == 120
    assert list(pandas.columns) == polars.columns == arrow.column_names
    waits = pandas["started"] - pandas["submitted"]
    assert waits.mean() == pytest.approx(run.figures["wait"]["mean"], abs=1e-3)
    assert (polars["ended"] - polars["submitted"]).mean() == pytest.approx(run.figures["turnaround"]["mean"], abs=1e-3)


def test_equal_arguments_give_equal_runs(trace: sb.Trace, run: sb.Run) -> None:
    assert sb.simulate(trace, EASY, seed=1, layout="pool").jobs.to_arrow().equals(run.jobs.to_arrow())


def test_figures_are_those_of_the_command(trace: sb.Trace, tmp_path: Path) -> None:
    trace.write(tmp_path / "t.swf")
    run = sb.simulate(tmp_path / "t.swf", EASY, layout="pool")
    assert run.figures["slowdown"] == sb.simulate(trace, EASY, layout="pool").figures["slowdown"]


def test_class_of_a_cell_decides_at_once() -> None:
    class LargestFirst(Plugin):
        name = "largest-first"

        def job_order(self, job: Job) -> Key:
            return (-job.min_available,)

    trace = sb.Trace.poisson(30, nodes=4, load=3.0, sizes={1: 0.5, 4: 0.5}, seed=1)
    mine = sb.Policy([LargestFirst, "gang", "predicates"], name="mine")
    runs = [sb.simulate(trace, policy).jobs.to_pandas() for policy in (mine, FCFS)]
    waits = [(jobs["started"] - jobs["submitted"])[jobs["pods"] == 4].mean() for jobs in runs]
    assert waits[0] < waits[1]
    assert sb.compare(trace, [FCFS, mine], seeds=1).verdicts[0].startswith("mine waits")


def test_traces_are_changed_by_methods(tmp_path: Path) -> None:
    trace = sb.Trace.generate("poisson", jobs=50, nodes=2, cpus_per_node=4, gpus_per_node=2, gpus=0.5, seed=3)
    assert [node.gpu for node in trace.nodes] == [2000, 2000]
    assert len(list(trace.first(7).jobs())) == 7
    assert len(trace.on_nodes(5, cpus=2).nodes) == 5
    assert trace.write(tmp_path / "t.csv") == []
    again = sb.Trace.open(tmp_path / "t.csv")
    assert [job.gpu for job in again.jobs()] == [500] * 50
    assert again.statistics["jobs"] == 50


INVALID: dict[str, tuple[type[Exception], str, Callable[[], object]]] = {
    "model": (ValueError, "no model is called 'x'", lambda: sb.Trace.generate("x")),
    "jobs": (ValueError, "jobs is 0", lambda: sb.Trace.lublin(0)),
    "gpus": (ValueError, "gpus needs nodes with GPUs", lambda: sb.Trace.poisson(nodes=2, gpus=1)),
    "sizes": (ValueError, "sizes is 0", lambda: sb.Trace.poisson(nodes=2, sizes=())),
    "file": (TraceError, "missing.swf", lambda: sb.simulate("missing.swf")),
    "option": (TypeError, "did you mean 'layout'", lambda: sb.simulate(sb.Trace.lublin(1), layuot="pool")),
    "layout": (ValueError, "is none of processors, nodes, pool", lambda: sb.simulate(sb.Trace.lublin(1), layout="x")),
    "names": (ValueError, "different names", lambda: sb.compare(sb.Trace.lublin(1), [EASY, EASY])),
    "equal seeds": (ValueError, "name each once", lambda: sb.compare(sb.Trace.lublin(1), [EASY], seeds=[1, 2, 1])),
    "seeds": (ValueError, "at least one seed", lambda: sb.compare(sb.Trace.lublin(1), [EASY], seeds=0)),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid_arguments_are_rejected_with_a_message(case: str) -> None:
    error, message, call = INVALID[case]
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("library", ["pyarrow", "pandas", "polars"])
def test_missing_library_names_the_extra(run: sb.Run, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=r"pip install 'stromboli\[lab\]'"):
        {"pyarrow": run.jobs.to_arrow, "pandas": run.jobs.to_pandas, "polars": run.jobs.to_polars}[library]()


@pytest.mark.parametrize(
    "name", ["gantt", "node_gantt", "nodes", "queues", "shares", "utilisation", "waiting", "waits", "slowdown"]
)
def test_pictures_are_shown_without_further_libraries(
    run: sb.Run, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plot = getattr(run.plot, name)()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    shown = plot._repr_mimebundle_()
    assert shown["application/vnd.vegalite.v6+json"] == plot.to_dict()
    assert set(shown) == {"application/vnd.vegalite.v6+json", "text/plain"}
    with pytest.raises(MissingExtra, match=r"pip install 'stromboli\[lab\]'"):
        plot.save(tmp_path / "plot.svg")


def test_pictures_are_written_by_suffix_and_compare_runs(run: sb.Run, trace: sb.Trace, tmp_path: Path) -> None:
    plot = run.plot.waits(sb.simulate(trace, FCFS, layout="pool"))
    for suffix, begin in ((".svg", b"<svg"), (".png", b"\x89PNG"), (".json", b"{")):
        plot.save(tmp_path / f"plot{suffix}")
        assert (tmp_path / f"plot{suffix}").read_bytes().startswith(begin)
    assert {"easy", "fcfs"} <= {str(value) for row in plot.to_dict()["data"]["values"] for value in row.values()}
    assert "<svg" in plot._repr_mimebundle_()["image/svg+xml"]
    with pytest.raises(ValueError, match="choose one of these suffixes"):
        plot.save(tmp_path / "plot.gif")


def test_representations_escape_names(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    sb.Trace.lublin(3).write(path)
    path.write_text(path.read_text().replace("\n1,", "\n<script>,", 1))
    trace = sb.Trace.open(path).on_nodes(128)
    policy = sb.Policy(["gang", "predicates"], name="<b>")
    shown = [
        trace._repr_html_(),
        sb.simulate(trace, policy)._repr_html_(),
        sb.simulate(trace, policy).jobs._repr_html_(),
    ]
    shown.append(sb.compare(trace, [policy], seeds=1, workers=1)._repr_html_())
    for text in shown:
        assert "<script>" not in text
        assert "<b>" not in text
        assert text.count("<table>") == text.count("</table>") == 1
    assert "&lt;script&gt;" in shown[0]
    assert "&lt;b&gt;" in shown[1]


def test_every_name_is_listed_and_can_be_loaded() -> None:
    assert set(sb.__all__) <= set(dir(sb))
    assert all(getattr(sb, name) is not None for name in sb.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Polcy'"):
        sb.Polcy  # type: ignore[attr-defined]  # noqa: B018

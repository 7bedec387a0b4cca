// Jobs of the past.
import { useMemo } from "preact/hooks";
import { session } from "../api/client";
import { useDocument, withQuery } from "../api/resource";
import type { HistoryRows, JobHistory } from "../api/types";
import { place, setQuery } from "../app/router";
import { Badge, Choice, Heading, JobLink, Name, Note, Pending, QueueLink, Section } from "../parts/basics";
import { Chart } from "../parts/chart";
import { clock, count, duration, now } from "../parts/format";
import { Table } from "../parts/table";

const WINDOWS = [
  ["3600", "1 h"],
  ["86400", "24 h"],
  ["604800", "7 d"],
  ["all", "All"],
] as const;
const STATES = ["", "Pending", "Running", "Succeeded", "Failed", "Evicted", "Suspended", "Cancelled", "Unknown"];
const FIRST = 100;
/** Points of the chart. */
const STEPS = 120;

export function HistoryPage() {
  const { query } = place.value;
  const period = query.get("window") ?? "86400";
  const since = period === "all" ? "" : String(Math.floor(now() / 60) * 60 - Number(period));
  const [job, queue, state] = ["job", "queue", "state"].map((name) => query.get(name) ?? "");
  const namespace = query.get("namespace") ?? "";
  const path = session.value?.hasHistory ? withQuery("/api/history", { namespace, job, queue, state, since, limit: 500 }) : null;
  const { data, problem } = useDocument<HistoryRows>(path, ["jobs"], 5_000);
  return (
    <>
      <Heading title="History" />
      {path === null ? (
        <Note>This console has no history: start it with the database of the scheduler.</Note>
      ) : (
        <>
          <div class="toolbar" role="search" aria-label="Filters">
            <Choice label="Window" value={period} options={WINDOWS} choose={(value) => setQuery({ window: value })} />
            <Text name="job" label="Name of the job" />
            <Text name="namespace" label="Namespace" />
            <Text name="queue" label="Queue" />
            <select aria-label="State" value={state ?? ""} onChange={(event) => setQuery({ state: event.currentTarget.value })}>
              {STATES.map((each) => (
                <option key={each} value={each}>
                  {each || "All states"}
                </option>
              ))}
            </select>
          </div>
          {data ? (
            <>
              <Past data={data} since={Number(since)} />
              <Rows data={data} />
            </>
          ) : (
            <Pending problem={problem} />
          )}
        </>
      )}
    </>
  );
}

function Text({ name, label }: { name: string; label: string }) {
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={place.value.query.get(name) ?? ""}
      onChange={(event) => setQuery({ [name]: event.currentTarget.value.trim() })}
    />
  );
}

/** Jobs that waited and ran over the window, of those that are listed. */
function Past({ data, since }: { data: HistoryRows; since: number }) {
  const { jobs, time } = data;
  const [times, lines] = useMemo(() => {
    const begin = Math.max(since, jobs.length ? Math.min(...jobs.map((job) => job.submitted)) : time);
    const step = Math.max(1, (time - begin) / STEPS);
    const moments = Array.from({ length: STEPS + 1 }, (_, at) => Math.min(begin + at * step, time));
    const at = (moment: number, from: (job: JobHistory) => number | null, to: (job: JobHistory) => number | null) =>
      jobs.filter((job) => (from(job) ?? Infinity) <= moment && moment < (to(job) ?? Infinity)).length;
    const waiting = moments.map((each) => at(each, (job) => job.submitted, (job) => job.started ?? job.ended));
    const running = moments.map((each) => at(each, (job) => job.started, (job) => job.ended));
    return [moments, [{ name: "waiting", values: waiting, filled: true }, { name: "running", values: running }]] as const;
  }, [jobs, time, since]);
  if (!jobs.length) return null;
  return (
    <Section title="Jobs over time">
      <Chart label="Jobs over time" times={times} lines={lines} format={count} isCount />
      {data.earlier ? <Note>Only the listed jobs.</Note> : null}
    </Section>
  );
}

function Rows({ data }: { data: HistoryRows }) {
  const jobs = [...data.jobs].reverse();
  const hidden = Object.entries(data.hidden).filter(([, number]) => number > 0);
  return (
    <Section title={`${count(jobs.length)} jobs`}>
      <Table
        label="Jobs of the past"
        rows={jobs}
        keyOf={(job) => job.uid}
        first={FIRST}
        empty="No job in this window."
        columns={[
          { title: "Job", cell: (job) => <JobLink job={`${job.namespace}/${job.podGroup}`} /> },
          { title: "Queue", cell: (job) => <QueueLink queue={job.queue} /> },
          { title: "State", cell: (job) => <Badge>{job.state}</Badge> },
          { title: "Pods", class: "numeric", cell: (job) => job.pods },
          { title: "Evictions", class: "numeric", cell: (job) => job.evictions || "" },
          { title: "Failures", class: "numeric", cell: (job) => job.failures || "" },
          { title: "Submitted", cell: (job) => clock(job.submitted) },
          { title: "Waited", class: "numeric", cell: (job) => duration((job.started ?? endOf(job, data.time)) - job.submitted) },
          { title: "Ran", class: "numeric", cell: (job) => (job.started === null ? "" : duration(endOf(job, data.time) - job.started)) },
          { title: "User", cell: (job) => <Name>{job.user}</Name> },
        ]}
      />
      {data.earlier ? <Note>{count(data.earlier)} earlier jobs match: choose a shorter window to see them.</Note> : null}
      {hidden.length ? (
        <Note>And jobs of namespaces that you may not read: {hidden.map(([state, number]) => `${count(number)} ${state}`).join(", ")}.</Note>
      ) : null}
    </Section>
  );
}

function endOf(job: JobHistory, time: number): number {
  return job.ended ?? time;
}

// Jobs of the past.
import { useState } from "preact/hooks";
import { session } from "../api/client";
import { useDocument, withQuery } from "../api/resource";
import type { HistoryRows, JobHistory } from "../api/types";
import { place, setQuery } from "../app/router";
import { Badge, Choice, Heading, JobLink, More, Name, Note, Pending, QueueLink, Section } from "../parts/basics";
import { clock, count, duration, now } from "../parts/format";

const WINDOWS = [
  ["3600", "1 h"],
  ["86400", "24 h"],
  ["604800", "7 d"],
  ["all", "All"],
] as const;
const STATES = ["", "Pending", "Running", "Succeeded", "Failed", "Evicted", "Cancelled", "Unknown"];
const FIRST = 100;

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
          {data ? <Rows data={data} /> : <Pending problem={problem} />}
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

function Rows({ data }: { data: HistoryRows }) {
  const [shown, setShown] = useState(FIRST);
  const jobs = [...data.jobs].reverse();
  const hidden = Object.entries(data.hidden).filter(([, number]) => number > 0);
  return (
    <Section title={`${count(jobs.length)} jobs`}>
      {jobs.length ? (
        <div class="scroll" tabIndex={0} role="group" aria-label="Jobs of the past">
          <table>
            <thead>
              <tr>
                {["Job", "Queue", "State"].map((title) => (
                  <th scope="col" key={title}>
                    {title}
                  </th>
                ))}
                {["Pods", "Evictions", "Failures"].map((title) => (
                  <th scope="col" class="numeric" key={title}>
                    {title}
                  </th>
                ))}
                <th scope="col">Submitted</th>
                <th scope="col" class="numeric">
                  Waited
                </th>
                <th scope="col" class="numeric">
                  Ran
                </th>
                <th scope="col">User</th>
              </tr>
            </thead>
            <tbody>
              {jobs.slice(0, shown).map((job) => (
                <HistoryRow key={job.uid} job={job} time={data.time} />
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <Note>No job in this window.</Note>
      )}
      <More total={jobs.length} shown={shown} show={() => setShown(jobs.length)} />
      {data.earlier ? <Note>{count(data.earlier)} earlier jobs match: choose a shorter window to see them.</Note> : null}
      {hidden.length ? (
        <Note>And jobs of namespaces that you may not read: {hidden.map(([state, number]) => `${count(number)} ${state}`).join(", ")}.</Note>
      ) : null}
    </Section>
  );
}

function HistoryRow({ job, time }: { job: JobHistory; time: number }) {
  const end = job.ended ?? time;
  return (
    <tr>
      <th scope="row">
        <JobLink job={`${job.namespace}/${job.podGroup}`} />
      </th>
      <td>
        <QueueLink queue={job.queue} />
      </td>
      <td>
        <Badge>{job.state}</Badge>
      </td>
      <td class="numeric">{job.pods}</td>
      <td class="numeric">{job.evictions || ""}</td>
      <td class="numeric">{job.failures || ""}</td>
      <td>{clock(job.submitted)}</td>
      <td class="numeric">{duration((job.started ?? end) - job.submitted)}</td>
      <td class="numeric">{job.started === null ? "" : duration(end - job.started)}</td>
      <td>
        <Name>{job.user}</Name>
      </td>
    </tr>
  );
}

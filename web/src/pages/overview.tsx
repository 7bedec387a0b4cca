// The state of the cluster: utilisation and waiting jobs over time, queues, alarms.
import { useMemo } from "preact/hooks";
import { useDocument, withQuery } from "../api/resource";
import type { Alarm, Overview, QueueListing, TimeSeries } from "../api/types";
import { Link, place, setQuery } from "../app/router";
import { Badge, Choice, Heading, Note, Pending, Section } from "../parts/basics";
import { ResourceBar } from "../parts/bars";
import { Chart } from "../parts/chart";
import { amount, count, duration, now, ordered, percent, plural } from "../parts/format";
import { QueueTree } from "../parts/queue_tree";

const WINDOWS = [
  ["900", "15 min"],
  ["3600", "1 h"],
  ["21600", "6 h"],
  ["86400", "24 h"],
] as const;

export function OverviewPage() {
  const overview = useDocument<Overview>("/api/overview", ["overview"]);
  const queues = useDocument<QueueListing>("/api/queues", ["queues"]);
  const data = overview.data;
  return (
    <>
      <Heading title="Overview" />
      {data ? (
        <>
          <Figures overview={data} />
          <Alarms alarms={data.alarms} />
        </>
      ) : (
        <Pending problem={overview.problem} />
      )}
      <Series />
      <div class="columns wide-left">
        <Section title="Queues" actions={<Link href="/queues">All queues</Link>}>
          {queues.data ? <QueueTree listing={queues.data} /> : <Pending problem={queues.problem} />}
        </Section>
        <Section title="Why jobs wait">{data ? <Reasons overview={data} /> : null}</Section>
      </div>
    </>
  );
}

function Figures({ overview }: { overview: Overview }) {
  const totals = ordered(overview.resources.map((each) => each.resource)).flatMap((name) =>
    overview.resources.filter((each) => each.resource === name && each.capacity > 0 && isOfInterest(name, each.used + each.reserved)),
  );
  return (
    <div class="figures">
      {totals.map((each) => (
        <div class="figure" key={each.resource}>
          <h2>
            <bdi>{each.resource}</bdi>
          </h2>
          <strong>{percent(each.used / each.capacity)}</strong>
          <ResourceBar total={each} />
          <p>
            {amount(each.resource, each.free)} free of {amount(each.resource, each.capacity)}
            {each.fragmented > 0 ? `, ${amount(each.resource, each.fragmented)} fragmented` : ""}
            {each.reserved > 0 ? `, ${amount(each.resource, each.reserved)} reserved` : ""}
          </p>
        </div>
      ))}
      <Link class="figure" href="/jobs?state=waiting&sort=created">
        <h2>Waiting</h2>
        <strong>{count(overview.waiting)}</strong>
        <p>{overview.waiting ? `${plural(overview.waitingPods, "pod")}, longest ${duration(overview.longestWait)}` : "no job waits"}</p>
      </Link>
      <Link class="figure" href="/jobs?state=running">
        <h2>Running</h2>
        <strong>{count(overview.running)}</strong>
        <p>{plural(overview.completed, "job")} completed</p>
      </Link>
      <Link class="figure" href="/nodes">
        <h2>Nodes ready</h2>
        <strong>
          {count(overview.nodesReady)}
          <small> of {count(overview.nodes)}</small>
        </strong>
      </Link>
    </div>
  );
}

function Alarms({ alarms }: { alarms: readonly Alarm[] }) {
  if (!alarms.length) return null;
  return (
    <Section title="Alarms" class="alarms">
      <ul>
        {alarms.map((alarm) => (
          <li key={alarm.kind}>
            <Badge>{alarm.severity}</Badge>
            {alarm.link.startsWith("/") ? (
              <Link href={alarm.link}>
                <bdi>{alarm.message}</bdi>
              </Link>
            ) : (
              <bdi>{alarm.message}</bdi>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Series() {
  const chosen = place.value.query.get("window") ?? "3600";
  // The start moves with the window, and not with each second, so that the address of the document stays.
  const since = Math.floor(now() / 60) * 60 - Number(chosen);
  const { data, problem } = useDocument<TimeSeries>(withQuery("/api/series", { since }), ["overview"], 5_000);
  const usage = useMemo(() => (data ? usageOf(data) : []), [data]);
  const jobs = useMemo(
    () => (data ? [{ name: "waiting", values: data.waiting, filled: true }, { name: "running", values: data.running }] : []),
    [data],
  );
  const windows = (
    <Choice label="Window" value={chosen} options={WINDOWS} choose={(value) => setQuery({ window: value })} />
  );
  const isShort = data && data.times.length < 2;
  return (
    <div class="columns">
      <Section title="Utilisation" actions={windows}>
        {data ? <Chart label="Utilisation" times={data.times} lines={usage} format={percent} max={1} /> : <Pending problem={problem} />}
        {isShort ? <Note>The console records while it runs; the line begins with its start.</Note> : null}
      </Section>
      <Section title="Jobs">
        {data ? <Chart label="Jobs" times={data.times} lines={jobs} format={count} isCount /> : <Pending problem={problem} />}
      </Section>
    </div>
  );
}

/** Resources that nodes offer and no pod requests are left out, except for the usual ones. */
function isOfInterest(resource: string, used: number): boolean {
  return used > 0 || resource === "cpu" || resource === "memory" || resource.includes("/");
}

function usageOf(series: TimeSeries) {
  const isUsed = (name: string) => isOfInterest(name, Math.max(0, ...(series.utilisation[name] ?? []).map((each) => each ?? 0)));
  return ordered(Object.keys(series.utilisation)).filter(isUsed).map((name) => ({ name, values: series.utilisation[name] ?? [] }));
}

function Reasons({ overview }: { overview: Overview }) {
  const most = Math.max(1, ...overview.reasons.map((each) => each.jobs));
  if (!overview.reasons.length) return <Note>No job waits.</Note>;
  return (
    <ol class="reasons">
      {overview.reasons.slice(0, 12).map((each) => (
        <li key={each.reason}>
          <Link href={withQuery("/jobs", { state: "waiting", reason: each.reason })} title={each.reason}>
            <bdi>{each.reason || "not reported yet"}</bdi>
          </Link>
          <span class="amount">{count(each.jobs)}</span>
          <svg class="bar" height="4" aria-hidden="true">
            <rect class="waiting" width={`${(100 * each.jobs) / most}%`} height="100%" />
          </svg>
        </li>
      ))}
    </ol>
  );
}

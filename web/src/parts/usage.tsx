// What queues have used over time, and their budgets, from the history.
import { session } from "../api/client";
import { useDocument, withQuery } from "../api/resource";
import type { BudgetUsage, QueueUsages } from "../api/types";
import { place, setQuery } from "../app/router";
import { ShareMeter } from "./bars";
import { Badge, Choice, Name, Note, Pending, QueueLink, Section } from "./basics";
import { count, isBytes, now, ordered, plural, shortResource } from "./format";
import { Table } from "./table";

const DAY = 86_400;
const PERIODS = [
  ["1", "24 h"],
  ["7", "7 d"],
  ["30", "30 d"],
  ["365", "365 d"],
] as const;

/** The usage and the budgets of one queue, or of all; nothing without a history. */
export function UsageSections({ only }: { only: string }) {
  const days = place.value.query.get("days") ?? "30";
  const since = Math.floor(now() / 3600) * 3600 - (Number(days) || 30) * DAY;
  const path = session.value?.hasHistory ? withQuery("/api/queue-usage", { since }) : null;
  const { data, problem } = useDocument<QueueUsages>(path, ["jobs"], 15_000);
  if (path === null) return null;
  const period = <Choice label="Period" value={days} options={PERIODS} choose={(value) => setQuery({ days: value })} />;
  return (
    <>
      <Section title="Usage" actions={period}>
        {data ? <Usage data={data} only={only} /> : <Pending problem={problem} />}
      </Section>
      {data ? <Budgets data={data} only={only} /> : null}
    </>
  );
}

function Usage({ data, only }: { data: QueueUsages; only: string }) {
  const rows = data.queues.filter((each) => (only ? each.queue === only : Object.keys(each.hours).length));
  const resources = ordered([...new Set(rows.flatMap((each) => Object.keys(each.hours)))]);
  const unit = (name: string) => (isBytes(name) ? `${shortResource(name)}, GiB hours` : `${shortResource(name)} hours`);
  return (
    <>
      <Table
        label="Usage by queue"
        rows={resources.length ? rows : []}
        keyOf={(each) => each.queue}
        empty="No pod ran in this period."
        columns={[
          { title: "Queue", cell: (each) => <QueueLink queue={each.queue} /> },
          ...resources.map((name) => ({
            title: <Name title={name}>{unit(name)}</Name>,
            class: "numeric",
            cell: (each: QueueUsages["queues"][number]) => (name in each.hours ? count(each.hours[name] ?? 0) : ""),
          })),
        ]}
      />
      {resources.length ? <Note>What pods requested, from their start to their end. A queue includes those below it.</Note> : null}
    </>
  );
}

function Budgets({ data, only }: { data: QueueUsages; only: string }) {
  const rows = data.budgets.filter((each) => !only || each.queue === only);
  if (!rows.length && !data.hiddenBudgets) return null;
  const holder = (each: BudgetUsage) => [each.user, each.namespace].filter(Boolean).join(", ") || "all";
  return (
    <Section title="Budgets">
      <Table
        label="Budgets"
        rows={rows}
        keyOf={(each) => `${each.queue} ${each.resource} ${each.user}/${each.namespace}`}
        empty="No budget that you may read."
        columns={[
          ...(only ? [] : [{ title: "Queue", cell: (each: BudgetUsage) => <QueueLink queue={each.queue} /> }]),
          { title: "Of", cell: (each) => <Name>{holder(each)}</Name> },
          { title: "Resource", cell: (each) => <Name title={each.resource}>{shortResource(each.resource)}</Name> },
          { title: "Period", cell: (each) => each.period },
          {
            title: "Used",
            cell: (each) => <ShareMeter share={each.limit ? each.used / each.limit : 1} label={`Budget of ${each.queue}, ${holder(each)}`} />,
          },
          { title: "Hours", class: "numeric", cell: (each) => `${count(each.used)} of ${count(each.limit)}` },
          { title: "Beyond it", cell: (each) => (each.over === "block" ? "jobs wait" : "jobs are preemptible") },
          { title: "State", cell: (each) => <Badge>{each.state}</Badge> },
        ]}
      />
      {data.hiddenBudgets ? <Note>And {plural(data.hiddenBudgets, "budget")} of users or namespaces that you may not read.</Note> : null}
    </Section>
  );
}

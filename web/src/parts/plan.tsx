// The decisions of a plan.
import { useState } from "preact/hooks";
import type { PlannedGroup, PlanReport, PlanVictim } from "../api/types";
import { Badge, JobLink, More, Name, Note, Section } from "./basics";
import { count, duration, plural } from "./format";
import { Table } from "./table";

/** The job `first` is shown before all others. */
export function PlanResult({ report, first = "" }: { report: PlanReport; first?: string }) {
  const { jobs, victims, warnings } = report;
  const waiting = jobs.filter((each) => each.waiting);
  return (
    <div class="stack">
      <div class="figures">
        <Figure title="Bound pods" value={Object.keys(report.binds).length} />
        <Figure title="Nominated pods" value={Object.keys(report.pipelined).length} />
        <Figure title="Victims" value={victims.length} />
        <Figure title="Waiting jobs" value={waiting.length} />
      </div>
      <Warnings warnings={warnings} />
      <Victims victims={victims} />
      <Groups title="Jobs at the end of the plan" groups={[...jobs].sort((one, other) => rank(one, first) - rank(other, first))} />
      <Note>Calculated in {duration(Math.max(0.1, report.seconds))}.</Note>
    </div>
  );
}

function rank(group: PlannedGroup, first: string): number {
  return group.job === first ? 0 : group.waiting ? 1 : 2;
}

export function Warnings({ warnings }: { warnings: readonly string[] }) {
  if (!warnings.length) return null;
  return (
    <Section title="Warnings">
      <ul class="list">
        {warnings.slice(0, 50).map((each) => (
          <li key={each}>
            <bdi>{each}</bdi>
          </li>
        ))}
      </ul>
    </Section>
  );
}

export function Figure({ title, value, text }: { title: string; value: number | string; text?: string }) {
  return (
    <div class="figure">
      <h3>{title}</h3>
      <strong>{typeof value === "number" ? count(value) : value}</strong>
      {text ? <p>{text}</p> : null}
    </div>
  );
}

export function Victims({ victims, title = "Victims" }: { victims: readonly PlanVictim[]; title?: string }) {
  const [shown, setShown] = useState(50);
  if (!victims.length) return null;
  return (
    <Section title={`${title} (${count(victims.length)})`} class="victims">
      <ul class="list">
        {victims.slice(0, shown).map((each) => (
          <li key={each.pod}>
            <Name>{each.pod}</Name>
            <p class="full-text small">
              <bdi>{each.reason}</bdi>
            </p>
          </li>
        ))}
      </ul>
      <More total={victims.length} shown={shown} show={() => setShown(victims.length)} />
    </Section>
  );
}

export function nodesOf(group: PlannedGroup): string {
  return Object.entries(group.nodes)
    .slice(0, 8)
    .map(([node, pods]) => `${node} ×${pods}`)
    .join(", ");
}

export function Groups({ title, groups }: { title: string; groups: readonly PlannedGroup[] }) {
  return (
    <Section title={title}>
      <Table
        label={title}
        rows={groups}
        keyOf={(each) => each.job}
        empty="No job."
        columns={[
          { title: "Job", cell: (each) => <JobLink job={each.job} /> },
          { title: "Queue", cell: (each) => <Name>{each.queue}</Name> },
          { title: "State", cell: (each) => <Badge>{each.waiting ? "Waiting" : each.phase}</Badge> },
          { title: "Placed", class: "numeric", cell: (each) => `${each.ready} / ${each.pods}` },
          {
            title: "Nodes, or why it waits",
            class: "wide",
            cell: (each) => (
              <Name title={each.reasons.join("\n") || nodesOf(each)}>{each.waiting ? each.summary : nodesOf(each)}</Name>
            ),
          },
        ]}
      />
      {groups.length > 0 ? <Note>{plural(groups.length, "job")}.</Note> : null}
    </Section>
  );
}

// The differences of two plans.
import type { PlannedGroup, PolicyDiff } from "../api/types";
import { Badge, JobLink, Name, Note, Section } from "./basics";
import { nodesOf, Victims, Warnings } from "./plan";
import { Table } from "./table";

export function PolicyDifferences({ diff }: { diff: PolicyDiff }) {
  const { differences, onlyBefore, onlyAfter } = diff;
  return (
    <div class="stack">
      <Warnings warnings={[...new Set([...diff.before.warnings, ...diff.after.warnings])]} />
      <Section title={`${differences.length} jobs differ`}>
        <Table
          label="Differences"
          rows={differences}
          keyOf={(each) => each.job}
          empty="The next cycle decides the same with both."
          columns={[
            { title: "Job", cell: (each) => <JobLink job={each.job} /> },
            { title: "Queue", cell: (each) => <Name>{each.queue}</Name> },
            { title: "Before", class: "wide", cell: (each) => <State group={each.before} /> },
            { title: "After", class: "wide", cell: (each) => <State group={each.after} /> },
          ]}
        />
      </Section>
      <Victims victims={onlyBefore} title="Victims only before" />
      <Victims victims={onlyAfter} title="Victims only after" />
    </div>
  );
}

function State({ group }: { group: PlannedGroup | null }) {
  if (!group) return <Note>not there</Note>;
  return (
    <>
      <Badge>{group.waiting ? "Waiting" : group.phase}</Badge> <Name>{group.waiting ? group.summary : nodesOf(group)}</Name>
    </>
  );
}

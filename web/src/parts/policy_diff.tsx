// The differences of two plans.
import type { PlannedGroup, PolicyDiff } from "../api/types";
import { Badge, JobLink, Name, Note, Section } from "./basics";
import { nodesOf, Victims, Warnings } from "./plan";

export function PolicyDifferences({ diff }: { diff: PolicyDiff }) {
  const { differences, onlyBefore, onlyAfter } = diff;
  return (
    <div class="stack">
      <Warnings warnings={[...new Set([...diff.before.warnings, ...diff.after.warnings])]} />
      <Section title={`${differences.length} jobs differ`}>
        {differences.length ? (
          <div class="scroll" tabIndex={0} role="group" aria-label="Differences">
            <table>
              <thead>
                <tr>
                  <th scope="col">Job</th>
                  <th scope="col">Queue</th>
                  <th scope="col">Before</th>
                  <th scope="col">After</th>
                </tr>
              </thead>
              <tbody>
                {differences.map((each) => (
                  <tr key={each.job}>
                    <th scope="row">
                      <JobLink job={each.job} />
                    </th>
                    <td>
                      <Name>{each.queue}</Name>
                    </td>
                    <td class="wide">
                      <State group={each.before} />
                    </td>
                    <td class="wide">
                      <State group={each.after} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        ) : (
          <Note>The next cycle decides the same with both.</Note>
        )}
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

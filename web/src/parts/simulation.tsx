// The report of a simulation.
import type { SimulationReport } from "../api/types";
import { Note, Section } from "./basics";
import { duration, percent } from "./format";
import { Figure, Warnings } from "./plan";

export function SimulationResult({ report }: { report: SimulationReport }) {
  const { waits } = report;
  const utilisation = Object.entries<unknown>(report.utilisation).filter(
    (entry): entry is [string, number] => typeof entry[1] === "number",
  );
  return (
    <div class="stack">
      <div class="figures">
        <Figure title="Jobs that started" value={waits.jobs} />
        <Figure title="Mean wait" value={duration(waits.mean)} />
        <Figure title="Median wait" value={duration(waits.median)} />
        <Figure title="95 % wait at most" value={duration(waits.p95)} />
        <Figure title="Longest wait" value={duration(waits.max)} />
        {utilisation.map(([resource, part]) => (
          <Figure key={resource} title={`Mean ${resource}`} value={percent(part)} />
        ))}
      </div>
      <Warnings warnings={report.warnings} />
      <Section title="Report">
        <details>
          <summary>JSON</summary>
          <pre tabIndex={0} aria-label="JSON">
            {JSON.stringify(report, null, 2)}
          </pre>
        </details>
        <Note>
          {report.start} to {report.end}, {report.cycles} cycles.
        </Note>
      </Section>
    </div>
  );
}

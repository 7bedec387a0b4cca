// Scores of nodes by scorer.
import type { JobScores } from "../api/types";
import { Name, NodeLink, Note } from "./basics";
import { count, plural } from "./format";

type ClassScores = JobScores["classes"][number];

const SHOWN = 10;

interface Points {
  node: string;
  total: number;
  points: Readonly<Record<string, number>>;
}

/** The best nodes with their points; `chosen` is marked. */
export function PointsTable({ label, nodes, chosen = "" }: { label: string; nodes: readonly Points[]; chosen?: string }) {
  const scorers = [...new Set(nodes.flatMap((each) => Object.keys(each.points)))].sort();
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={label}>
      <table>
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col" class="numeric">
              Total
            </th>
            {scorers.map((name) => (
              <th scope="col" class="numeric" key={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {nodes.slice(0, SHOWN).map((each) => (
            <tr key={each.node} class={each.node === chosen ? "active" : ""}>
              <th scope="row">
                <NodeLink node={each.node} />
                {each.node === chosen ? <span class="note"> chosen</span> : null}
              </th>
              <td class="numeric">
                <strong>{count(each.total)}</strong>
              </td>
              {scorers.map((name) => (
                <td class="numeric" key={name}>
                  {name in each.points ? count(each.points[name] ?? 0) : ""}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {nodes.length > SHOWN ? <Note>The best {SHOWN} of {nodes.length} nodes.</Note> : null}
    </div>
  );
}

export function ScoreTable({ scores }: { scores: ClassScores }) {
  const request = Object.entries(scores.request).map(([name, value]) => `${name} ${value}`);
  return (
    <div class="score-class">
      <h3>
        {plural(scores.pods.length, "pod")} with <bdi>{request.join(", ") || "no request"}</bdi>
      </h3>
      {scores.candidates.length ? (
        <PointsTable label="Scores" nodes={scores.candidates} chosen={scores.chosen} />
      ) : (
        <Note>No node takes them.</Note>
      )}
      <ul class="list small">
        {scores.rejected.map((each) => (
          <li key={each.reason}>
            {plural(each.nodes.length, "node")}: <Name title={each.nodes.slice(0, 50).join(", ")}>{each.reason}</Name>
          </li>
        ))}
      </ul>
    </div>
  );
}

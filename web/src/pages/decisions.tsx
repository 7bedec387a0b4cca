// Scheduling cycles: what each decided, by which plugins, and the scores of the best nodes.
import { useState, useEffect } from "preact/hooks";
import { get } from "../api/client";
import { messageOf, useDocument } from "../api/resource";
import type { CycleList, CycleSummary, CycleView } from "../api/types";
import { go, Link, setQuery, place } from "../app/router";
import { Badge, Choice, Heading, JobLink, More, Name, NodeLink, Note, Pending, QueueLink, Section } from "../parts/basics";
import { clock, count, plural } from "../parts/format";
import { PointsTable } from "../parts/scores";

export function DecisionsPage({ number }: { number: string }) {
  const { data, problem } = useDocument<CycleList>("/api/cycles?limit=200", ["decisions"]);
  const only = place.value.query.get("only") ?? "";
  const cycles = (data?.cycles ?? []).filter((each) => !only || each.binds + each.evictions + each.pipelined > 0);
  return (
    <>
      <Heading title={number ? `Cycle ${number}` : "Decisions"}>
        {number ? <Link href={`/decisions${location.search}`}>All cycles</Link> : null}
      </Heading>
      {data?.note ? <Note>{data.note}</Note> : null}
      <div class={number ? "columns wide-right" : ""}>
        {data ? (
          data.cycles.length ? (
            <Section
              title="Cycles"
              class="cycles"
              actions={
                <Choice
                  label="Cycles"
                  value={only}
                  options={[["", "All"], ["decided", "With decisions"]] as const}
                  choose={(value) => setQuery({ only: value })}
                />
              }
            >
              <Cycles cycles={cycles} selected={Number(number)} />
            </Section>
          ) : null
        ) : (
          <Pending problem={problem} />
        )}
        {number ? <Cycle number={number} /> : null}
      </div>
    </>
  );
}

function Cycles({ cycles, selected }: { cycles: readonly CycleSummary[]; selected: number }) {
  const [shown, setShown] = useState(60);
  const isOfSeveral = new Set(cycles.map((each) => each.scheduler)).size > 1;
  return (
    <>
      <div class="scroll" tabIndex={0} role="group" aria-label="Cycles">
      <table>
        <thead>
          <tr>
            <th scope="col">Cycle</th>
            {isOfSeveral ? <th scope="col">Scheduler</th> : null}
            <th scope="col">Time</th>
            {["Time, ms", "Bound", "Evicted", "Nominated", "Waiting"].map((title) => (
              <th scope="col" class="numeric" key={title}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {cycles.slice(0, shown).map((each) => (
            <tr
              key={each.number}
              class={each.number === selected ? "active link" : "link"}
              onClick={() => go(`/decisions/${each.number}${location.search}`)}
            >
              <th scope="row">
                <Link href={`/decisions/${each.number}${location.search}`}>{each.number}</Link>
              </th>
              {isOfSeveral ? (
                <td>
                  <Name>{each.scheduler}</Name>
                </td>
              ) : null}
              <td>{clock(each.time)}</td>
              <td class="numeric">{count(each.seconds * 1000)}</td>
              <td class="numeric">{each.binds || ""}</td>
              <td class="numeric">{each.evictions || ""}</td>
              <td class="numeric">{each.pipelined || ""}</td>
              <td class="numeric">{each.waiting}</td>
            </tr>
          ))}
        </tbody>
      </table>
      </div>
      <More total={cycles.length} shown={shown} show={() => setShown(cycles.length)} />
    </>
  );
}

/** A cycle does not change: it is read once. */
function Cycle({ number }: { number: string }) {
  const [view, setView] = useState<CycleView | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const abort = new AbortController();
    setView(null);
    setProblem("");
    get<CycleView>(`/api/cycles/${encodeURIComponent(number)}`, abort.signal).then(setView, (error: unknown) => {
      if (!abort.signal.aborted) setProblem(messageOf(error));
    });
    return () => abort.abort();
  }, [number]);
  if (!view) return <Pending problem={problem} />;
  const isQuiet = !(view.binds.length + view.evictions.length + view.nominations.length + view.refusals.length);
  return (
    <div class="stack">
      <Section title={`Cycle ${view.cycle.number} at ${clock(view.cycle.time)}`}>
        <p class="small">
          Scheduler: <bdi>{view.cycle.scheduler}</bdi>. Actions: {view.actions.join(", ")}. Plugins: {view.plugins.join(", ")}.
        </p>
        {isQuiet ? <Note>It decided nothing about jobs that you may read.</Note> : null}
        {view.hidden ? <Note>And {plural(view.hidden, "decision")} about jobs of namespaces that you may not read.</Note> : null}
      </Section>
      <Decided view={view} />
    </div>
  );
}

function Decided({ view }: { view: CycleView }) {
  return (
    <>
      {view.binds.length ? (
        <Section title="Bound">
          <ul class="list">
            {view.binds.map((each) => (
              <li key={each.job}>
                <JobLink job={each.job} /> in <QueueLink queue={each.queue} />
                <Placements pods={each.pods} />
              </li>
            ))}
          </ul>
        </Section>
      ) : null}
      {view.evictions.length ? (
        <Section title="Evicted">
          <ul class="list">
            {view.evictions.map((each) => (
              <li key={each.pod}>
                <Name>{each.pod}</Name> by <Badge>{each.action}</Badge> for {each.preemptor ? <JobLink job={each.preemptor} /> : "no job"}
                <p class="full-text small">
                  <bdi>{each.message}</bdi>
                </p>
                {each.plugins.length ? <p class="note">Allowed by {each.plugins.join(", ")}</p> : null}
              </li>
            ))}
          </ul>
        </Section>
      ) : null}
      {view.nominations.length ? (
        <Section title="Nominated">
          <ul class="list">
            {view.nominations.map((each) => (
              <li key={each.job}>
                <JobLink job={each.job} />
                <Placements pods={each.pods} />
              </li>
            ))}
          </ul>
        </Section>
      ) : null}
      {view.scores.map((each, at) => (
        <Section title={`Scores for ${plural(each.pods, "pod")}`} label={`Scores ${at + 1}: ${each.job}`} key={at} actions={<JobLink job={each.job} />}>
          <PointsTable label={`Scores for ${each.job}`} nodes={each.nodes} />
        </Section>
      ))}
      {view.refusals.length ? (
        <Section title="Not started">
          <ul class="list">
            {view.refusals.slice(0, 200).map((each) => (
              <li key={each.job}>
                <JobLink job={each.job} /> in <QueueLink queue={each.queue} />
                <p class="full-text small">
                  <bdi>{each.summary}</bdi> {each.codes.map((code) => <code key={code}>{code} </code>)}
                </p>
              </li>
            ))}
          </ul>
        </Section>
      ) : null}
    </>
  );
}

/** Nodes with the number of pods on each. */
function Placements({ pods }: { pods: Readonly<Record<string, string>> }) {
  const counts = new Map<string, number>();
  for (const node of Object.values(pods)) counts.set(node, (counts.get(node) ?? 0) + 1);
  return (
    <p class="small">
      {[...counts].slice(0, 24).map(([node, number]) => (
        <span key={node}>
          <NodeLink node={node} /> ×{number}{" "}
        </span>
      ))}
      {counts.size > 24 ? `and ${counts.size - 24} more` : ""}
    </p>
  );
}

// Attempts of pods over time: a row for each, waiting and then running on a node.
import type { PodHistory } from "../api/types";
import { Name, NodeLink } from "./basics";
import { clock, duration } from "./format";
import { Table } from "./table";

const FIRST = 40;

export function PodTimeline({ pods, until }: { pods: readonly PodHistory[]; until: number }) {
  const begin = Math.min(...pods.map((pod) => pod.created ?? pod.started ?? until));
  const length = Math.max(1, until - begin);
  const at = (time: number) => (100 * (time - begin)) / length;
  return (
    <Table
      label="Attempts of pods"
      class="timeline"
      rows={pods}
      keyOf={(pod) => pod.uid}
      first={FIRST}
      columns={[
        { title: "Pod", cell: (pod) => <Name>{pod.name}</Name> },
        { title: "Node", cell: (pod) => (pod.node ? <NodeLink node={pod.node} /> : "") },
        {
          title: (
            <span class="ends">
              <span>{clock(begin)}</span>
              <span>{clock(until)}</span>
            </span>
          ),
          class: "span",
          cell: (pod) => <Spans pod={pod} at={at} until={until} />,
        },
        { title: "Outcome", cell: (pod) => <Outcome pod={pod} /> },
      ]}
    />
  );
}

function Spans({ pod, at, until }: { pod: PodHistory; at(time: number): number; until: number }) {
  const created = pod.created ?? pod.started ?? until;
  const ended = pod.ended ?? pod.evicted ?? until;
  const started = pod.started ?? ended;
  const ran = pod.started === null ? "" : `, ran ${duration(ended - started)}`;
  const label = `waited ${duration(started - created)}${ran}`;
  const part = (kind: string, from: number, to: number) =>
    to > from ? <rect class={kind} x={`${at(from)}%`} width={`${Math.max(0.3, at(to) - at(from))}%`} height="100%" /> : null;
  return (
    <svg class="bar" role="img" aria-label={label} height="12">
      <title>{label}</title>
      {part("waiting", created, started)}
      {part(pod.evicted !== null || pod.outcome === "Failed" ? "lost" : pod.ended === null ? "used" : "done", started, ended)}
    </svg>
  );
}

function Outcome({ pod }: { pod: PodHistory }) {
  const by = pod.preemptor ? ` for ${pod.preemptor}` : "";
  const text = `${pod.outcome ?? (pod.started === null ? "waits" : "runs")}${by}`;
  return <Name title={[pod.cause, pod.reason].filter(Boolean).join(": ") || text}>{text}</Name>;
}

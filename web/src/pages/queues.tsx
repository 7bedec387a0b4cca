// Queues: the tree, shares over time, and one queue in full.
import { useMemo } from "preact/hooks";
import { useDocument, withQuery } from "../api/resource";
import type { Queue, QueueListing, TimeSeries } from "../api/types";
import { Link } from "../app/router";
import { QueueBar, scaleOf } from "../parts/bars";
import { Badge, Facts, Heading, Name, Note, Pending, QueueLink, Section } from "../parts/basics";
import { Chart } from "../parts/chart";
import { amount, count, now, ordered, percent, plural } from "../parts/format";
import { QueueTree } from "../parts/queue_tree";
import { Table } from "../parts/table";
import { UsageSections } from "../parts/usage";

/** Queues whose shares are drawn: those with the largest. */
const MAX_LINES = 8;

export function QueuesPage({ name }: { name: string }) {
  const { data, problem } = useDocument<QueueListing>("/api/queues", ["queues"]);
  const queue = data?.queues.find((each) => each.queue === name);
  return (
    <>
      <Heading title={name ? `Queue ${name}` : "Queues"}>{name ? <Link href="/queues">All queues</Link> : null}</Heading>
      {name && data && !queue ? <p class="problem">There is no queue {name} that you may read.</p> : null}
      {queue && data ? <QueueDetail queue={queue} queues={data.queues} /> : null}
      <Shares only={name} queues={data?.queues ?? []} />
      <UsageSections only={name} />
      <Section title="Tree">{data ? <QueueTree listing={data} selected={name} /> : <Pending problem={problem} />}</Section>
    </>
  );
}

function QueueDetail({ queue, queues }: { queue: Queue; queues: readonly Queue[] }) {
  const children = queues.filter((each) => each.parent === queue.queue);
  const order = ordered(queue.amounts.map((each) => each.resource));
  const rows = [...queue.amounts].sort((one, other) => order.indexOf(one.resource) - order.indexOf(other.resource));
  return (
    <Section title="Amounts" actions={<Badge>{queue.state}</Badge>}>
      <Facts
        entries={[
          ["Share", percent(queue.share)],
          ["Weight", count(queue.weight)],
          ["Priority", count(queue.priority)],
          ["Reclaimable", queue.reclaimable ? "yes" : "no"],
          ["Parent", queue.parent ? <QueueLink queue={queue.parent} /> : "none"],
          ["Waiting", <Link href={withQuery("/jobs", { queue: queue.queue, state: "waiting" })}>{plural(queue.jobs.waiting, "job")}</Link>],
          ["Running", <Link href={withQuery("/jobs", { queue: queue.queue, state: "running" })}>{plural(queue.jobs.running, "job")}</Link>],
          ["Children", children.length ? children.map((each) => <QueueLink key={each.queue} queue={each.queue} />) : "none"],
        ]}
      />
      <Table
        label="Amounts by resource"
        rows={rows}
        keyOf={(each) => each.resource}
        columns={[
          { title: "Resource", cell: (each) => <Name>{each.resource}</Name> },
          {
            title: "Allocation",
            class: "bar-column",
            cell: (each) => <QueueBar amounts={each} whole={Math.max(scaleOf([each]), each.allocated + each.requested)} />,
          },
          { title: "Allocated", class: "numeric", cell: (each) => amount(each.resource, each.allocated) },
          { title: "Deserved", class: "numeric", cell: (each) => (each.deserved === null ? "–" : amount(each.resource, each.deserved)) },
          { title: "Guarantee", class: "numeric", cell: (each) => amount(each.resource, each.guarantee) },
          { title: "Capability", class: "numeric", cell: (each) => amount(each.resource, each.capability) },
          { title: "Borrowed", class: "numeric", cell: (each) => amount(each.resource, each.borrowed) },
          { title: "Requested", class: "numeric", cell: (each) => amount(each.resource, each.requested) },
        ]}
      />
    </Section>
  );
}

function Shares({ only, queues }: { only: string; queues: readonly Queue[] }) {
  const since = Math.floor(now() / 60) * 60 - 3_600;
  const { data, problem } = useDocument<TimeSeries>(withQuery("/api/series", { since }), ["overview"], 5_000);
  const lines = useMemo(() => {
    const leaves = queues.filter((each) => !queues.some((other) => other.parent === each.queue));
    const largest = [...leaves].sort((one, other) => other.share - one.share).map((each) => each.queue);
    const names = only ? [only] : largest.slice(0, MAX_LINES).sort();
    return names.map((name) => ({ name, values: data?.queues[name] ?? [] })).filter((each) => each.values.length);
  }, [data, queues, only]);
  return (
    <Section title="Shares in the last hour">
      {data && lines.length ? (
        <Chart label="Shares" times={data.times} lines={lines} format={percent} height={220} />
      ) : (
        <Pending problem={problem} />
      )}
      <Note>
        The used part of what a queue deserves, or else of the cluster, for the resource of which most is used. More than
        100 % is borrowed.
      </Note>
    </Section>
  );
}

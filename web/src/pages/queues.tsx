// Queues: the tree, shares over time, and one queue in full.
import { useMemo } from "preact/hooks";
import { useDocument, withQuery } from "../api/resource";
import type { Queue, QueueListing, TimeSeries } from "../api/types";
import { Link } from "../app/router";
import { QueueBar, scaleOf } from "../parts/bars";
import { Badge, Facts, Heading, Note, Pending, QueueLink, Section } from "../parts/basics";
import { Chart } from "../parts/chart";
import { amount, count, now, ordered, percent } from "../parts/format";
import { QueueTree } from "../parts/queue_tree";

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
          ["Waiting", <Link href={withQuery("/jobs", { queue: queue.queue, state: "waiting" })}>{queue.jobs.waiting} jobs</Link>],
          ["Running", <Link href={withQuery("/jobs", { queue: queue.queue, state: "running" })}>{queue.jobs.running} jobs</Link>],
          ["Children", children.length ? children.map((each) => <QueueLink key={each.queue} queue={each.queue} />) : "none"],
        ]}
      />
      <div class="scroll" tabIndex={0} role="group" aria-label="Amounts by resource">
        <table class="amounts">
          <thead>
            <tr>
              <th scope="col">Resource</th>
              <th scope="col" class="bar-column">
                Allocation
              </th>
              {["Allocated", "Deserved", "Guarantee", "Capability", "Borrowed", "Requested"].map((title) => (
                <th scope="col" class="numeric" key={title}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((each) => (
              <tr key={each.resource}>
                <th scope="row">
                  <bdi>{each.resource}</bdi>
                </th>
                <td>
                  <QueueBar amounts={each} whole={Math.max(scaleOf([each]), each.allocated + each.requested)} />
                </td>
                <td class="numeric">{amount(each.resource, each.allocated)}</td>
                <td class="numeric">{each.deserved === null ? "–" : amount(each.resource, each.deserved)}</td>
                <td class="numeric">{amount(each.resource, each.guarantee)}</td>
                <td class="numeric">{amount(each.resource, each.capability)}</td>
                <td class="numeric">{amount(each.resource, each.borrowed)}</td>
                <td class="numeric">{amount(each.resource, each.requested)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
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

// Queues as a tree, each with its bar for one resource.
import { useMemo } from "preact/hooks";
import type { Queue, QueueListing } from "../api/types";
import { place, setQuery } from "../app/router";
import { QueueBar, QueueLegend, scaleOf, ShareMeter } from "./bars";
import { Badge, Choice, Note, QueueLink } from "./basics";
import { amount, ordered, plural, shortResource } from "./format";

export function QueueTree({ listing, selected }: { listing: QueueListing; selected?: string }) {
  const resources = useMemo(() => resourcesOf(listing.queues), [listing]);
  const asked = place.value.query.get("resource") ?? "";
  const resource = resources.includes(asked) ? asked : (resources[0] ?? "cpu");
  const amounts = (queue: Queue) => queue.amounts.find((each) => each.resource === resource);
  const whole = scaleOf(listing.queues.map(amounts));
  if (!listing.queues.length) return <Note>No queue that you may read.</Note>;
  return (
    <>
      <div class="toolbar">
        <Choice
          label="Resource"
          value={resource}
          options={resources.map((each) => [each, shortResource(each)] as const)}
          choose={(value) => setQuery({ resource: value })}
        />
        <QueueLegend />
      </div>
      <div class="scroll" tabIndex={0} role="group" aria-label="Tree of queues">
      <table class="queues">
        <thead>
          <tr>
            <th scope="col">Queue</th>
            <th scope="col">Allocated {shortResource(resource)}</th>
            <th scope="col" class="numeric minor">
              Amount
            </th>
            <th scope="col" class="minor">
              Share
            </th>
            <th scope="col" class="numeric">
              Waiting
            </th>
            <th scope="col" class="numeric minor">
              Running
            </th>
          </tr>
        </thead>
        <tbody>
          {listing.queues.map((queue) => {
            const own = amounts(queue);
            return (
              <tr key={queue.queue} class={queue.queue === selected ? "active" : ""}>
                <th scope="row" class={`depth-${Math.min(queue.depth, 8)}`}>
                  <QueueLink queue={queue.queue} />
                  {queue.state !== "Open" ? <Badge>{queue.state}</Badge> : null}
                </th>
                <td>{own ? <QueueBar amounts={own} whole={whole} /> : null}</td>
                <td class="numeric minor">{own ? amount(resource, own.allocated) : "0"}</td>
                <td class="minor">
                  <ShareMeter share={queue.share} label={`Share of ${queue.queue}`} />
                </td>
                <td class="numeric">{queue.jobs.waiting}</td>
                <td class="numeric minor">{queue.jobs.running}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      </div>
      {listing.hidden ? <Note>And {plural(listing.hidden, "queue")} that you may not read.</Note> : null}
    </>
  );
}

export function resourcesOf(queues: readonly Queue[]): string[] {
  return ordered([...new Set(queues.flatMap((queue) => queue.amounts.map((each) => each.resource)))]);
}

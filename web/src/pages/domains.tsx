// Network domains as a tree, with what is used of one resource and the jobs in each.
import { useState } from "preact/hooks";
import type { TopologyDomain, TopologyView } from "../api/types";
import { ResourceBar } from "../parts/bars";
import { JobLink, More, Name, Section } from "../parts/basics";
import { amount, count, shortResource } from "../parts/format";

const FIRST = 12;
const JOBS = 4;

export function Domains({ view, resource }: { view: TopologyView; resource: string }) {
  const [shown, setShown] = useState(FIRST);
  const depths = depthsOf(view.domains);
  return (
    <Section title="Domains">
      {view.warnings.map((each) => (
        <p class="problem" key={each}>
          <bdi>{each}</bdi>
        </p>
      ))}
      <div class="scroll" tabIndex={0} role="group" aria-label="Domains">
        <table class="domains">
          <thead>
            <tr>
              <th scope="col">Domain</th>
              <th scope="col">Tier</th>
              <th scope="col" class="bar-column">
                Used {shortResource(resource)}
              </th>
              <th scope="col" class="numeric">
                Free
              </th>
              <th scope="col" class="numeric">
                Nodes free
              </th>
              <th scope="col">Jobs</th>
            </tr>
          </thead>
          <tbody>
            {view.domains.slice(0, shown).map((each) => (
              <tr key={each.name}>
                <th scope="row" class={`depth-${Math.min(depths.get(each.name) ?? 0, 8)}`}>
                  <Name>{each.name}</Name>
                </th>
                <td>
                  <bdi>{each.tierName || (each.parent ? each.tier : "")}</bdi>
                </td>
                <td>
                  <ResourceBar total={totalOf(each, resource)} />
                </td>
                <td class="numeric">{amount(resource, each.free[resource] ?? 0)}</td>
                <td class="numeric">
                  {count(each.freeNodes)} of {count(each.nodes)}
                </td>
                <td class="jobs">
                  <Jobs domain={each} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <More total={view.domains.length} shown={shown} show={() => setShown(view.domains.length)} />
    </Section>
  );
}

function Jobs({ domain }: { domain: TopologyDomain }) {
  const jobs = Object.entries(domain.jobs).sort((one, other) => other[1] - one[1]);
  const others = jobs.length - JOBS + domain.hiddenJobs;
  return (
    <>
      {jobs.slice(0, JOBS).map(([job, pods]) => (
        <span class="job-of-domain" key={job}>
          <JobLink job={job} /> ×{pods}{" "}
        </span>
      ))}
      {others > 0 ? <span class="note">and {others} more</span> : null}
    </>
  );
}

function totalOf(domain: TopologyDomain, resource: string) {
  return {
    resource,
    capacity: domain.capacity[resource] ?? 0,
    used: domain.used[resource] ?? 0,
    free: domain.free[resource] ?? 0,
    reserved: 0,
    fragmented: 0,
  };
}

function depthsOf(domains: readonly TopologyDomain[]): ReadonlyMap<string, number> {
  const depths = new Map<string, number>();
  for (const each of domains) depths.set(each.name, each.parent ? (depths.get(each.parent) ?? 0) + 1 : 0);
  return depths;
}

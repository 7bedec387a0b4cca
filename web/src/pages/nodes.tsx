// Nodes and network domains: a heat map, a table, and one node with its jobs.
import { useMemo } from "preact/hooks";
import { session } from "../api/client";
import { useDocument, withQuery } from "../api/resource";
import type { NodeColumns, NodeDetail, NodeListing, TopologyView } from "../api/types";
import { go, Link, place, setQuery } from "../app/router";
import { Badge, Choice, Facts, Heading, JobLink, Name, NodeLink, Note, Pending, Requests, Section } from "../parts/basics";
import { amount, count, ordered, percent, plural, shortResource } from "../parts/format";
import { HeatMap, type NodeGroup } from "../parts/heat_map";
import { Table } from "../parts/table";
import { byNumber, byText, sorted, VirtualTable, type Column } from "../parts/virtual_table";
import { Domains } from "./domains";

export function NodesPage({ name }: { name: string }) {
  const { data, problem } = useDocument<NodeListing>("/api/nodes", ["nodes"]);
  const { query } = place.value;
  const mayRead = session.value?.rights.nodes ?? false;
  const domains = withQuery("/api/topology", { name: query.get("topology") ?? "" });
  const topology = useDocument<TopologyView>(mayRead ? domains : null, ["nodes"]);
  const nodes = data?.nodes;
  const resources = useMemo(() => (nodes ? ordered(Object.keys(nodes.capacity)) : []), [nodes]);
  const asked = query.get("resource") ?? "";
  const resource = resources.includes(asked) ? asked : (resources[0] ?? "cpu");
  const groups = useMemo(() => (nodes ? groupsOf(nodes, topology.data) : []), [nodes, topology.data]);
  const open = (node: string) => go(`/nodes/${encodeURIComponent(node)}${location.search}`);
  return (
    <>
      <Heading title={name ? `Node ${name}` : "Nodes"}>
        {name ? <Link href={`/nodes${location.search}`}>All nodes</Link> : null}
      </Heading>
      {nodes ? (
        <>
          <Section title={groups.length > 1 ? "By domain" : "All nodes"} actions={<Topologies view={topology.data} />}>
            <div class="toolbar">
              <Choice
                label="Resource"
                value={resource}
                options={resources.map((each) => [each, shortResource(each)] as const)}
                choose={(value) => setQuery({ resource: value })}
              />
              <ul class="legend" aria-label="Legend">
                <li class="free">free</li>
                <li class="used">used</li>
                <li class="reserved">reserved</li>
                <li class="fragmented">fragmented</li>
                <li class="down">not ready or cordoned</li>
              </ul>
            </div>
            {nodes.names.length ? (
              <HeatMap nodes={nodes} groups={groups} resource={resource} selected={name} select={open} />
            ) : null}
            {data?.hidden ? <Note>{plural(data.hidden, "node")} that you may not read.</Note> : null}
          </Section>
          {name ? <NodePanel name={name} /> : null}
          {topology.data && topology.data.domains.length > 1 ? <Domains view={topology.data} resource={resource} /> : null}
          {nodes.names.length ? <NodeTable nodes={nodes} resource={resource} open={open} /> : null}
        </>
      ) : (
        <Pending problem={problem} />
      )}
    </>
  );
}

function Topologies({ view }: { view: TopologyView | null }) {
  if (!view?.topologies.length) return null;
  const chosen = place.value.query.get("topology") ?? "";
  return (
    <select aria-label="Topology" value={chosen} onChange={(event) => setQuery({ topology: event.currentTarget.value }, true)}>
      <option value="">HyperNodes</option>
      {view.topologies.map((each) => (
        <option key={each} value={each}>
          {each}
        </option>
      ))}
    </select>
  );
}

/** Nodes by their lowest domain, with the domains above it in the title. */
function groupsOf(nodes: NodeColumns, topology: TopologyView | null): NodeGroup[] {
  const index = new Map(nodes.names.map((name, at) => [name, at]));
  const domains = topology?.domains ?? [];
  const parents = new Map(domains.map((each) => [each.name, each.parent]));
  const placed = new Set<number>();
  const groups = domains.slice(1).flatMap((domain): NodeGroup[] => {
    const own = domain.ownNodes.map((name) => index.get(name) ?? -1).filter((at) => at >= 0 && !placed.has(at));
    for (const at of own) placed.add(at);
    return own.length ? [{ title: titleOf(domain.name, domains[0]?.name ?? "", parents), nodes: own }] : [];
  });
  const rest = nodes.names.map((_, at) => at).filter((at) => !placed.has(at));
  if (rest.length) groups.push({ title: groups.length ? "in no domain" : "", nodes: rest });
  return groups;
}

function titleOf(name: string, root: string, parents: ReadonlyMap<string, string>): string {
  const names = [name];
  for (let parent = parents.get(name); parent && parent !== root && names.length < 8; parent = parents.get(parent)) names.unshift(parent);
  return names.join(" / ");
}

function NodePanel({ name }: { name: string }) {
  const { data, problem } = useDocument<NodeDetail>(`/api/nodes/${encodeURIComponent(name)}`, ["nodes"]);
  if (!data) return <Section title="Pods"><Pending problem={problem} /></Section>;
  const refusals = Object.entries(data.refusals);
  return (
    <Section title={`${plural(data.pods.length, "pod")} on ${name}`} actions={<Badge>{data.status}</Badge>}>
      {data.obstacles.length ? <p class="problem">{data.obstacles.join("; ")}</p> : null}
      {refusals.length ? (
        <Facts
          entries={refusals.slice(0, 8).map(([reason, jobs]) => [plural(jobs, "waiting job"), <bdi>{reason}</bdi>] as const)}
        />
      ) : null}
      <Table
        label="Pods of the node"
        rows={data.pods}
        keyOf={(pod) => `${pod.namespace}/${pod.pod}`}
        columns={[
          { title: "Pod", cell: (pod) => <Name>{`${pod.namespace}/${pod.pod}`}</Name> },
          { title: "Job", cell: (pod) => (pod.job ? <JobLink job={pod.job} /> : "") },
          { title: "Status", cell: (pod) => <Badge>{pod.status}</Badge> },
          { title: "Requests", cell: (pod) => <Requests requests={pod.requests} /> },
        ]}
      />
      {data.hiddenPods ? <Note>And {plural(data.hiddenPods, "pod")} of namespaces that you may not read.</Note> : null}
      <details>
        <summary>Labels</summary>
        <ul class="list small">
          {Object.entries(data.labels).map(([key, value]) => (
            <li key={key}>
              <bdi>
                {key}={value}
              </bdi>
            </li>
          ))}
        </ul>
      </details>
    </Section>
  );
}

interface NodeRow {
  name: string;
  status: string;
  domain: string;
  pods: number;
  used: number;
  reserved: number;
  capacity: number;
  note: string;
}

function NodeTable({ nodes, resource, open }: { nodes: NodeColumns; resource: string; open(node: string): void }) {
  const { query } = place.value;
  const [sort, search] = [query.get("sort") ?? "name", query.get("search") ?? ""];
  const rows = useMemo(() => rowsOf(nodes, resource), [nodes, resource]);
  const columns = useMemo(() => columnsOf(resource), [resource]);
  const shown = useMemo(() => {
    const text = search.toLowerCase();
    const matches = (row: NodeRow) => `${row.name}\n${row.status}\n${row.domain}\n${row.note}`.toLowerCase().includes(text);
    return sorted(rows.filter(matches), columns, sort);
  }, [rows, columns, sort, search]);
  return (
    <Section title={`Table (${count(shown.length)})`} class="table-section">
      <div class="toolbar" role="search" aria-label="Nodes">
        <input
          type="search"
          class="grow"
          aria-label="Search nodes"
          placeholder="Search name, status, domain"
          value={search}
          onInput={(event) => setQuery({ search: event.currentTarget.value })}
        />
      </div>
      <VirtualTable
        label="Nodes"
        rows={shown}
        columns={columns}
        keyOf={(row) => row.name}
        sort={sort}
        sortBy={(next) => setQuery({ sort: next })}
        open={(row) => open(row.name)}
        fits
      />
    </Section>
  );
}

function rowsOf(nodes: NodeColumns, resource: string): NodeRow[] {
  const value = (column: Record<string, number[]>, at: number) => column[resource]?.[at] ?? 0;
  return nodes.names.map((name, at) => ({
    name,
    status: nodes.statuses[at] ?? "",
    domain: nodes.domains[at] ?? "",
    pods: nodes.pods[at] ?? 0,
    used: value(nodes.used, at),
    reserved: value(nodes.reserved, at),
    capacity: value(nodes.capacity, at),
    note: [nodes.obstacles[at], nodes.fragmented[at] ? "no waiting pod fits" : ""].filter(Boolean).join("; "),
  }));
}

function columnsOf(resource: string): Column<NodeRow>[] {
  const part = (row: NodeRow) => (row.capacity ? row.used / row.capacity : 0);
  const short = shortResource(resource);
  return [
    { id: "name", title: "Node", width: "minmax(9rem, 2fr)", compare: byText((row) => row.name), cell: (row) => <NodeLink node={row.name} /> },
    { id: "status", title: "Status", width: "9rem", compare: byText((row) => row.status), cell: (row) => <Badge>{row.status}</Badge> },
    { id: "domain", title: "Domain", width: "minmax(6rem, 1fr)", minor: true, compare: byText((row) => row.domain), cell: (row) => <Name>{row.domain}</Name> },
    {
      id: "used", title: `Used ${short}`, width: "minmax(8rem, 1fr)", numeric: true, compare: byNumber(part),
      cell: (row) => (row.capacity ? `${amount(resource, row.used)} of ${amount(resource, row.capacity)} (${percent(part(row))})` : "none"),
    },
    {
      id: "reserved", title: "Reserved", width: "6rem", numeric: true, minor: true, compare: byNumber((row) => row.reserved),
      cell: (row) => (row.reserved ? amount(resource, row.reserved) : ""),
    },
    { id: "pods", title: "Pods", width: "4.5rem", numeric: true, compare: byNumber((row) => row.pods), cell: (row) => row.pods },
    { id: "note", title: "Note", width: "minmax(8rem, 2fr)", minor: true, compare: byText((row) => row.note || "\uffff"), cell: (row) => <Name>{row.note}</Name> },
  ];
}

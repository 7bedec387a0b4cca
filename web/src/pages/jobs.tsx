// All jobs that the person may read.
import { useEffect, useMemo } from "preact/hooks";
import { jobTable, jobTableProblem, useTable, type JobRow } from "../api/job_table";
import { jobPath } from "../api/resource";
import { go, Link, place, setQuery } from "../app/router";
import { Ago, Badge, Heading, HiddenJobs, Name, Pending, QueueLink } from "../parts/basics";
import { count, expected } from "../parts/format";
import { byNumber, byText, sorted, VirtualTable, type Column } from "../parts/virtual_table";

const WAITING = new Set(["Pending", "Inqueue"]);
const STATES: readonly (readonly [string, string, (row: JobRow) => boolean])[] = [
  ["", "All states", () => true],
  ["waiting", "Waiting", (row) => WAITING.has(row.phase)],
  ["running", "Started", (row) => !WAITING.has(row.phase) && row.phase !== "Completed"],
  ["completed", "Completed", (row) => row.phase === "Completed"],
];

const COLUMNS: readonly Column<JobRow>[] = [
  {
    id: "job", title: "Job", width: "minmax(9rem, 2fr)", compare: byText((row) => row.name),
    cell: (row) => <Link href={`/jobs/${jobPath(row.key)}`} title={row.key}><bdi class="name">{row.name}</bdi></Link>,
  },
  {
    id: "namespace", title: "Namespace", width: "minmax(7.5rem, 1fr)", minor: true, compare: byText((row) => row.namespace),
    cell: (row) => <Name>{row.namespace}</Name>,
  },
  { id: "queue", title: "Queue", width: "minmax(7rem, 1.2fr)", compare: byText((row) => row.queue), cell: (row) => <QueueLink queue={row.queue} /> },
  { id: "phase", title: "State", width: "7.4rem", compare: byText((row) => row.phase), cell: (row) => <Badge>{row.phase}</Badge> },
  {
    id: "ready", title: "Ready", width: "5.5rem", numeric: true, minor: true, compare: byNumber((row) => row.ready ?? 0),
    cell: (row) => `${row.ready ?? "–"} / ${row.minimum}`,
  },
  { id: "priority", title: "Priority", width: "6rem", numeric: true, minor: true, compare: byNumber((row) => row.priority), cell: (row) => row.priority },
  {
    id: "position", title: "Position", width: "6.2rem", numeric: true, minor: true,
    compare: byNumber((row) => row.position || Number.MAX_SAFE_INTEGER), cell: (row) => row.position || "",
  },
  {
    id: "reason", title: "Reason", width: "minmax(8rem, 3fr)", compare: byText((row) => row.reason || "\uffff"),
    cell: (row) => <Name>{row.reason}</Name>,
  },
  { id: "owner", title: "Owner", width: "minmax(5rem, 1fr)", minor: true, compare: byText((row) => row.owner), cell: (row) => <Name>{row.owner}</Name> },
  {
    id: "created", title: "Age", width: "7.2rem", numeric: true, minor: true, compare: byNumber((row) => -row.created),
    cell: (row) => <Ago time={row.created} />,
  },
  {
    id: "expected", title: "Expected start", width: "8rem", minor: true,
    compare: byNumber((row) => row.earliest || Number.MAX_SAFE_INTEGER), cell: (row) => expected(row.earliest, row.latest),
  },
];

export function JobsPage() {
  useEffect(useTable, []);
  const { query } = place.value;
  const table = jobTable.value;
  const rows = table?.rows;
  const sort = query.get("sort") ?? "namespace";
  const filters = query.toString();
  const shown = useMemo(() => sorted(filtered(rows ?? [], query), COLUMNS, sort), [rows, filters]);
  const columns = useMemo(() => COLUMNS.filter((each) => each.id !== "owner" || rows?.some((row) => row.owner)), [rows]);
  return (
    <div class="full">
      <Heading title="Jobs">
        {table ? <span class="note">{shown.length === rows?.length ? count(shown.length) : `${count(shown.length)} of ${count(rows?.length ?? 0)}`}</span> : null}
      </Heading>
      <Filters rows={rows ?? []} />
      {jobTableProblem.value ? <Pending problem={jobTableProblem.value} /> : null}
      {table ? (
        <VirtualTable
          label="Jobs"
          rows={shown}
          columns={columns}
          keyOf={(row) => row.key}
          sort={sort}
          sortBy={(next) => setQuery({ sort: next })}
          open={(row) => go(`/jobs/${jobPath(row.key)}`)}
        />
      ) : jobTableProblem.value ? null : (
        <Pending problem="" />
      )}
      {table ? <HiddenJobs hidden={table.hidden} /> : null}
    </div>
  );
}

function filtered(rows: readonly JobRow[], query: URLSearchParams): readonly JobRow[] {
  const search = (query.get("search") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const [queue, reason, owner, namespace] = ["queue", "reason", "owner", "namespace"].map((name) => query.get(name) ?? "");
  const inState = STATES.find(([name]) => name === (query.get("state") ?? ""))?.[2] ?? (() => true);
  return rows.filter(
    (row) =>
      inState(row) &&
      (!queue || row.queue === queue) &&
      (!reason || row.reason.includes(reason)) &&
      (!owner || row.owner === owner) &&
      (!namespace || row.namespace === namespace) &&
      search.every((word) => row.text.includes(word)),
  );
}

function Filters({ rows }: { rows: readonly JobRow[] }) {
  const { query } = place.value;
  const values = useMemo(() => {
    const distinct = (value: (row: JobRow) => string) => [...new Set(rows.map(value))].filter(Boolean).sort();
    return {
      namespace: distinct((row) => row.namespace),
      queue: distinct((row) => row.queue),
      reason: distinct((row) => (WAITING.has(row.phase) ? row.reason : "")),
      owner: distinct((row) => row.owner),
    };
  }, [rows]);
  const isFiltered = ["search", "state", "namespace", "queue", "reason", "owner"].some((name) => query.get(name));
  return (
    <div class="toolbar" role="search" aria-label="Filters">
      <input
        type="search"
        class="grow"
        aria-label="Search jobs"
        placeholder="Search name, queue, owner, reason"
        value={query.get("search") ?? ""}
        onInput={(event) => setQuery({ search: event.currentTarget.value })}
      />
      <select aria-label="State" value={query.get("state") ?? ""} onChange={(event) => setQuery({ state: event.currentTarget.value }, true)}>
        {STATES.map(([name, title]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </select>
      <Filter name="namespace" all="All namespaces" values={values.namespace} />
      <Filter name="queue" all="All queues" values={values.queue} />
      <Filter name="reason" all="All reasons" values={values.reason} />
      {values.owner.length ? <Filter name="owner" all="All owners" values={values.owner} /> : null}
      {isFiltered ? (
        <button type="button" class="plain" onClick={() => go(`/jobs?sort=${query.get("sort") ?? "namespace"}`)}>
          Clear
        </button>
      ) : null}
    </div>
  );
}

function Filter({ name, all, values }: { name: string; all: string; values: readonly string[] }) {
  const value = place.value.query.get(name) ?? "";
  const listed = value && !values.includes(value) ? [value, ...values] : values;
  return (
    <select aria-label={all} value={value} onChange={(event) => setQuery({ [name]: event.currentTarget.value }, true)}>
      <option value="">{all}</option>
      {listed.map((each) => (
        <option key={each} value={each}>
          {each.length > 60 ? `${each.slice(0, 60)}…` : each}
        </option>
      ))}
    </select>
  );
}

// The table of all jobs: read once, then kept by changes of the stream.
import { signal } from "@preact/signals";
import { get } from "./client";
import { messageOf } from "./resource";
import * as stream from "./stream";
import type { Hidden, JobColumns, JobListing, JobListingChanges } from "./types";

export interface JobRow {
  /** namespace/podGroup. */
  key: string;
  namespace: string;
  name: string;
  queue: string;
  phase: string;
  ready: number | null;
  minimum: number;
  priority: number;
  /** 0 for a job that does not wait. */
  position: number;
  reason: string;
  owner: string;
  kind: string;
  created: number;
  /** Expected start; 0 if unknown. */
  earliest: number;
  latest: number;
  /** What a search looks through, in lower case. */
  text: string;
}

export interface JobTable {
  rows: readonly JobRow[];
  hidden: Hidden;
}

export const jobTable = signal<JobTable | null>(null);
export const jobTableProblem = signal("");

let byKey = new Map<string, JobRow>();
let version: number | null = null;
let users = 0;

const follower: stream.Follower = {
  version: () => version,
  apply(changes: JobListingChanges): void {
    if (changes.base !== version) {
      void load();
      return;
    }
    for (const row of rowsOf(changes.changed)) byKey.set(row.key, row);
    for (const key of changes.removed) byKey.delete(key);
    show(changes.version, changes.hidden);
  },
  reload: () => void load(),
};

/** Keep the table while a page shows it. */
export function useTable(): () => void {
  users += 1;
  if (users === 1) void load();
  return () => {
    users -= 1;
    if (users === 0) stop();
  };
}

let unfollow: (() => void) | null = null;

async function load(): Promise<void> {
  try {
    const listing = await get<JobListing>("/api/job-table");
    if (users === 0) return;
    byKey = new Map(rowsOf(listing.columns).map((row) => [row.key, row]));
    jobTableProblem.value = "";
    show(listing.version, listing.hidden);
    unfollow ??= stream.follow(follower);
    stream.open();
  } catch (error) {
    jobTableProblem.value = messageOf(error);
  }
}

function stop(): void {
  unfollow?.();
  unfollow = null;
  version = null;
  jobTable.value = null;
  stream.open();
}

function show(next: number, hidden: Hidden): void {
  version = next;
  jobTable.value = { rows: [...byKey.values()], hidden };
}

function rowsOf(columns: JobColumns): JobRow[] {
  const text = (index: number | undefined) => columns.texts[index ?? -1] ?? "";
  return columns.keys.map((key, at) => {
    const row = {
      key,
      namespace: key.slice(0, key.indexOf("/")),
      name: columns.names[at] ?? key,
      queue: text(columns.queues[at]),
      phase: text(columns.phases[at]) || "Pending",
      ready: columns.ready[at] ?? null,
      minimum: columns.minimum[at] ?? 0,
      priority: columns.priorities[at] ?? 0,
      position: columns.positions[at] ?? 0,
      reason: text(columns.reasons[at]),
      owner: text(columns.owners[at]),
      kind: text(columns.kinds[at]),
      created: columns.created[at] ?? 0,
      earliest: columns.earliest[at] ?? 0,
      latest: columns.latest[at] ?? 0,
    };
    return { ...row, text: [key, row.name, row.queue, row.owner, row.reason].join("\n").toLowerCase() };
  });
}

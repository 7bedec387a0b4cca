// Server-sent events: which resources have a new version, and changes of the table of jobs. After a loss the stream is
// opened again by this module rather than by the browser, with the version of the table that the page then has.
import { batch, signal } from "@preact/signals";
import { connection, loadSession, session } from "./client";
import type { JobListingChanges, StreamHello, StreamVersion } from "./types";

/** By resource, a number that grows with each change. */
export const versions = signal<Readonly<Record<string, number>>>({});
/** Grows when all that was read may be out of date. */
export const epoch = signal(0);

export interface Follower {
  /** The version of the table that the page has; null to follow nothing. */
  version(): number | null;
  apply(changes: JobListingChanges): void;
  reload(): void;
}

const MIN_DELAY = 500;
const MAX_DELAY = 8_000;

let source: EventSource | null = null;
let retry: number | undefined;
let delay = MIN_DELAY;
let instance = "";
let follower: Follower | null = null;

export function open(): void {
  close();
  const version = follower?.version() ?? null;
  const stream = new EventSource(version === null ? "/api/events" : `/api/events?jobs=${version}`);
  source = stream;
  const on = <T>(name: string, handle: (data: T) => void) =>
    stream.addEventListener(name, (event) => {
      if (source === stream) handle(JSON.parse((event as MessageEvent<string>).data) as T);
    });
  on<StreamHello>("hello", hello);
  on<StreamVersion>("version", (data) => {
    versions.value = { ...versions.peek(), ...Object.fromEntries(data.resources.map((each) => [each, data.version])) };
  });
  on<unknown>("resync", () => follower?.reload());
  on<JobListingChanges>("jobs", (data) => follower?.apply(data));
  stream.onerror = () => {
    if (source === stream) lost();
  };
}

export function close(): void {
  source?.close();
  source = null;
  window.clearTimeout(retry);
}

/** Receive the changes of the table of jobs; the result ends it. */
export function follow(next: Follower): () => void {
  follower = next;
  return () => {
    if (follower === next) follower = null;
  };
}

function hello(data: StreamHello): void {
  const restarted = instance !== "" && data.instance !== instance;
  const returned = connection.peek() === "away";
  instance = data.instance;
  delay = MIN_DELAY;
  batch(() => {
    connection.value = "live";
    if (restarted) versions.value = {};
    if (restarted || returned) epoch.value += 1;
  });
  if (restarted) {
    follower?.reload();
    void loadSession().catch(() => undefined);
  }
}

function lost(): void {
  close();
  connection.value = "away";
  retry = window.setTimeout(() => void reopen(), delay);
  delay = Math.min(delay * 2, MAX_DELAY);
}

/** Ask for the session first: a stream does not report why it was refused. */
async function reopen(): Promise<void> {
  try {
    await loadSession();
  } catch {
    lost();
    return;
  }
  if (session.peek()) open();
}

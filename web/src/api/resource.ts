// Documents that follow the server: read again when one of their resources has a new version.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, RequestFailure } from "./client";
import { epoch, versions } from "./stream";

export interface Loaded<T> {
  data: T | null;
  problem: string;
}

interface Held<T> extends Loaded<T> {
  path: string;
}

/** The least time between two reads of one document, in milliseconds. */
const PACE = 1_000;

/** Read a document, and again with each version of `resources`. Data of the path before are not shown. */
export function useDocument<T>(path: string | null, resources: readonly string[] = [], pace = PACE): Loaded<T> {
  const [held, setHeld] = useState<Held<T>>({ path: "", data: null, problem: "" });
  const reader = useRef<Reader | null>(null);
  const seen = resources.map((each) => versions.value[each] ?? 0).join();
  const round = epoch.value;

  useEffect(() => {
    if (path === null) return undefined;
    const answered = (data: T) => setHeld({ path, data, problem: "" });
    const failed = (error: unknown) =>
      setHeld((before) => {
        const isRefused = error instanceof RequestFailure && error.code !== 0;
        return { path, data: isRefused || before.path !== path ? null : before.data, problem: messageOf(error) };
      });
    const own = new Reader(async (signal) => {
      try {
        answered(await get<T>(path, signal));
      } catch (error) {
        if (!signal.aborted) failed(error);
      }
    }, pace);
    reader.current = own;
    own.ask();
    return () => own.stop();
  }, [path, pace]);

  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) reader.current?.ask();
    isFirst.current = false;
  }, [seen, round]);

  const isPresent = held.path === path;
  return { data: isPresent ? held.data : null, problem: isPresent ? held.problem : "" };
}

/** One read at a time and not too often: what was asked meanwhile is one read more. */
class Reader {
  private readonly abort = new AbortController();
  private timer: number | undefined;
  private isBusy = false;
  private isAsked = false;
  private last = -Infinity;

  constructor(
    private readonly read: (signal: AbortSignal) => Promise<void>,
    private readonly pace: number,
  ) {}

  ask(): void {
    this.isAsked = true;
    if (this.isBusy || this.timer !== undefined || this.abort.signal.aborted) return;
    const wait = Math.max(0, this.last + this.pace - performance.now());
    this.timer = window.setTimeout(() => void this.run(), wait);
  }

  stop(): void {
    window.clearTimeout(this.timer);
    this.abort.abort();
  }

  private async run(): Promise<void> {
    this.timer = undefined;
    this.isAsked = false;
    this.isBusy = true;
    this.last = performance.now();
    await this.read(this.abort.signal);
    this.isBusy = false;
    if (this.isAsked) this.ask();
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A path with a query of the values that are not empty. */
export function withQuery(path: string, query: Record<string, string | number | undefined>): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(entries.map(([name, value]) => [name, String(value)])).toString();
  return text ? `${path}?${text}` : path;
}

export function jobPath(key: string): string {
  return key.split("/").map(encodeURIComponent).join("/");
}

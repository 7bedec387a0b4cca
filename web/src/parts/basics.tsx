// Small parts of every page.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Link } from "../app/router";
import { jobPath } from "../api/resource";
import type { Hidden } from "../api/types";
import { clock, count, duration, now, plural } from "./format";

/** A name of an object, isolated: text of any direction does not change the line around it. */
export function Name({ children, title }: { children: string; title?: string }) {
  return (
    <bdi class="name" title={title ?? children}>
      {children}
    </bdi>
  );
}

export function JobLink({ job }: { job: string }) {
  return job.includes("/") ? (
    <Link href={`/jobs/${jobPath(job)}`} title={job}>
      <Name>{job}</Name>
    </Link>
  ) : (
    <Name>{job}</Name>
  );
}

export function NodeLink({ node }: { node: string }) {
  return (
    <Link href={`/nodes/${encodeURIComponent(node)}`} title={node}>
      <Name>{node}</Name>
    </Link>
  );
}

export function QueueLink({ queue }: { queue: string }) {
  return (
    <Link href={`/queues/${encodeURIComponent(queue)}`} title={queue}>
      <Name>{queue}</Name>
    </Link>
  );
}

/** What a pod requests; that it is one pod is left out. */
export function Requests({ requests }: { requests: Readonly<Record<string, string>> }) {
  const entries = Object.entries(requests).filter(([name]) => name !== "pods");
  return <bdi>{entries.map(([name, value]) => `${name} ${value}`).join(", ")}</bdi>;
}

const TONES: Record<string, string> = {
  Running: "good", Succeeded: "good", Ready: "good", Open: "good", Started: "good",
  Pending: "waiting", Inqueue: "waiting", Gated: "waiting", Starting: "waiting", Submitted: "waiting", Waiting: "waiting",
  Failed: "bad", NotReady: "bad", Evicted: "bad", Unknown: "bad", critical: "bad", warning: "waiting",
  open: "good", "in grace": "waiting", "used up": "bad", Terminating: "waiting", Closed: "bad", Closing: "waiting",
};

export function Badge({ children }: { children: string }) {
  return <span class={`badge ${TONES[children.split(",")[0] ?? ""] ?? "quiet"}`}>{children}</span>;
}

interface SectionProps {
  title: string;
  /** What distinguishes it from others with the same title. */
  label?: string;
  /** Beside the title. */
  actions?: ComponentChildren;
  class?: string;
  children: ComponentChildren;
}

export function Section({ title, label = title, actions, children, ...rest }: SectionProps) {
  return (
    <section class={`card ${rest.class ?? ""}`} aria-label={label}>
      <header>
        <h2>{title}</h2>
        {actions}
      </header>
      {children}
    </section>
  );
}

export function Heading({ title, children }: { title: string; children?: ComponentChildren }) {
  useEffect(() => {
    document.title = `${title.slice(0, 80)} · Stromboli`;
  }, [title]);
  return (
    <div class="heading">
      <h1>
        <Name>{title}</Name>
      </h1>
      {children}
    </div>
  );
}

export function Note({ children }: { children: ComponentChildren }) {
  return <p class="note">{children}</p>;
}

/** What is shown instead of data: the problem, or that they are being read. */
export function Pending({ problem }: { problem: string }) {
  return problem ? (
    <p class="problem" role="alert">
      {problem}
    </p>
  ) : (
    <p class="note" aria-busy="true">
      Loading…
    </p>
  );
}

export function Facts({ entries }: { entries: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function HiddenJobs({ hidden }: { hidden: Hidden }) {
  const parts = [
    hidden.waiting && `${count(hidden.waiting)} waiting`,
    hidden.running && `${count(hidden.running)} running`,
    hidden.completed && `${count(hidden.completed)} completed`,
  ].filter(Boolean);
  return parts.length ? <Note>And jobs of namespaces that you may not read: {parts.join(", ")}.</Note> : null;
}

/** How long ago something was; it grows while the page is open. */
export function Ago({ time }: { time: number }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = window.setInterval(() => tick((value) => value + 1), 5_000);
    return () => window.clearInterval(timer);
  }, []);
  return time ? <time title={clock(time)}>{duration(now() - time)}</time> : null;
}

interface ChoiceProps<T extends string> {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  choose(value: T): void;
}

export function Choice<T extends string>({ label, value, options, choose }: ChoiceProps<T>) {
  return (
    <div class="choice" role="group" aria-label={label}>
      {options.map(([each, text]) => (
        <button type="button" key={each} aria-pressed={each === value} onClick={() => choose(each)}>
          {text}
        </button>
      ))}
    </div>
  );
}

export function More({ total, shown, show }: { total: number; shown: number; show(): void }) {
  return total > shown ? (
    <button type="button" class="plain" onClick={show}>
      Show {plural(total - shown, "more row")}
    </button>
  ) : null;
}

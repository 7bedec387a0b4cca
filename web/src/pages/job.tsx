// One job: why it waits, what would help, its pods and its past.
import { useEffect, useState } from "preact/hooks";
import { get, getText, session } from "../api/client";
import { jobPath, messageOf, useDocument } from "../api/resource";
import type { JobAttempts, JobDetail, JobPod, JobScores } from "../api/types";
import { Link } from "../app/router";
import { Ago, Badge, Facts, Heading, JobLink, More, Name, NodeLink, Note, Pending, QueueLink, Requests, Section } from "../parts/basics";
import { clock, expected, parsed } from "../parts/format";
import { ScoreTable } from "../parts/scores";
import { Table } from "../parts/table";
import { PodTimeline } from "../parts/timeline";
import { Explanation } from "./job_explanation";

const WAITING = new Set(["", "Pending", "Inqueue"]);

export function JobPage({ namespace, podGroup }: { namespace: string; podGroup: string }) {
  const path = `/api/jobs/${jobPath(`${namespace}/${podGroup}`)}`;
  const { data, problem } = useDocument<JobDetail>(path, ["jobs"]);
  const attempts = useDocument<JobAttempts>(`${path}/history`, ["jobs"], 3_000);
  if (!data)
    return (
      <>
        <Heading title={podGroup} />
        <Pending problem={problem} />
      </>
    );
  const { job } = data;
  const waits = WAITING.has(job.phase);
  const pods = attempts.data?.pods ?? [];
  return (
    <>
      <Heading title={job.job}>
        <Badge>{job.phase || "Pending"}</Badge>
        {problem ? <span class="problem">{problem}</span> : null}
      </Heading>
      <Summary detail={data} />
      {data.message || data.reason ? <Why detail={data} /> : null}
      <div class="columns wide-left">
        <div class="stack">
          {waits || data.conditions.some((each) => each.status === "True" && each.type === "Unschedulable") ? (
            <Explanation path={path} job={`${namespace}/${podGroup}`} />
          ) : null}
          <Pods pods={data.pods} />
        </div>
        <div class="stack">
          {waits ? <Ahead detail={data} /> : null}
          <Conditions detail={data} />
        </div>
      </div>
      {pods.length ? (
        <Section title="Time line">
          <PodTimeline pods={pods} until={attempts.data?.time ?? 0} />
        </Section>
      ) : null}
      <Past attempts={attempts.data} />
      {waits && session.value?.rights.nodes ? <Scores path={`${path}/scores`} /> : null}
      <Yaml path={`${path}/yaml`} pods={data.pods} />
    </>
  );
}

function Summary({ detail }: { detail: JobDetail }) {
  const { job } = detail;
  const start = job.expectedStart;
  return (
    <Facts
      entries={[
        ["Namespace", <Link href={`/jobs?namespace=${encodeURIComponent(job.namespace)}`}><Name>{job.namespace}</Name></Link>],
        ["Queue", <QueueLink queue={job.queue} />],
        ["Ready", `${job.ready ?? "–"} of ${job.minMember}`],
        ["Priority", job.priority],
        ["Kind", <Name>{detail.ownerName ? `${detail.ownerKind} ${detail.ownerName}` : job.kind}</Name>],
        ...(job.owner ? ([["Owner", <Name>{job.owner}</Name>]] as const) : []),
        ["Age", <Ago time={parsed(job.created)} />],
        ...(job.position ? ([["Position", `${job.position} of ${detail.waitingInQueue} in its queue`]] as const) : []),
        ...(start ? ([["Expected start", expected(parsed(start.earliest), parsed(start.latest))]] as const) : []),
      ]}
    />
  );
}

function Why({ detail }: { detail: JobDetail }) {
  return (
    <Section title="Why it waits" class="why">
      <p class="reason">
        <bdi>{detail.reason || detail.message}</bdi>
      </p>
      {detail.message && detail.message !== detail.reason ? <p class="full-text"><bdi>{detail.message}</bdi></p> : null}
      {detail.eviction ? <p class="full-text"><bdi>{detail.eviction}</bdi></p> : null}
    </Section>
  );
}

function Ahead({ detail }: { detail: JobDetail }) {
  if (!detail.ahead.length && !detail.aheadHidden) return <Section title="Ahead of it"><Note>No waiting job of its queue.</Note></Section>;
  return (
    <Section title="Ahead of it">
      <ol class="list">
        {detail.ahead.map((job) => (
          <li key={job}>
            <JobLink job={job} />
          </li>
        ))}
      </ol>
      {detail.aheadHidden ? <Note>And {detail.aheadHidden} of namespaces that you may not read, or further ahead.</Note> : null}
    </Section>
  );
}

function Conditions({ detail }: { detail: JobDetail }) {
  if (!detail.conditions.length) return null;
  return (
    <Section title="Conditions">
      <ul class="list">
        {detail.conditions.map((each) => (
          <li key={each.type}>
            <strong>
              <bdi>{each.type}</bdi>
            </strong>{" "}
            {each.status} <span class="note">{each.since ? <Ago time={each.since} /> : null}</span>
            <p class="full-text small">
              <bdi>{[each.reason, each.message].filter(Boolean).join(": ")}</bdi>
            </p>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Pods({ pods }: { pods: readonly JobPod[] }) {
  return (
    <Section title={`Pods (${pods.length})`}>
      <Table
        label="Pods"
        rows={pods}
        keyOf={(pod) => pod.pod}
        empty="It has no pods."
        columns={[
          { title: "Pod", cell: (pod) => <Name>{pod.pod}</Name> },
          { title: "Status", cell: (pod) => <Badge>{pod.status}</Badge> },
          { title: "Node", cell: (pod) => (pod.node ? <NodeLink node={pod.node} /> : "") },
          { title: "Requests", cell: (pod) => <Requests requests={pod.requests} /> },
          { title: "Note", class: "wide", cell: (pod) => <Name>{pod.note}</Name> },
        ]}
      />
    </Section>
  );
}

function Past({ attempts }: { attempts: JobAttempts | null }) {
  const [shown, setShown] = useState(30);
  if (!attempts?.timeline.length) return null;
  const events = [...attempts.timeline].reverse();
  return (
    <Section title="Events">
      <ol class="events">
        {events.slice(0, shown).map((event, at) => (
          <li key={at}>
            <time>{clock(event.time)}</time>
            <Badge>{event.what}</Badge>
            <span>
              {event.pod ? <Name>{event.pod}</Name> : null} {event.node ? <NodeLink node={event.node} /> : null}{" "}
              <bdi>{event.message}</bdi>
            </span>
          </li>
        ))}
      </ol>
      <More total={events.length} shown={shown} show={() => setShown(events.length)} />
    </Section>
  );
}

function Scores({ path }: { path: string }) {
  const [scores, setScores] = useState<JobScores | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const load = () => {
    setProblem("");
    get<JobScores>(path).then(
      (data) => {
        setScores(data);
        setProblem(null);
      },
      (error: unknown) => setProblem(messageOf(error)),
    );
  };
  return (
    <Section
      title="Scores of nodes"
      actions={
        <button type="button" onClick={load} disabled={problem === ""}>
          {scores ? "Calculate again" : "Calculate"}
        </button>
      }
    >
      {problem !== null ? <Pending problem={problem} /> : null}
      {scores?.classes.map((each) => <ScoreTable key={each.pods[0] ?? ""} scores={each} />)}
      {scores && !scores.classes.length ? <Note>No pod waits.</Note> : null}
      {!scores && problem === null ? <Note>Scores of the nodes for each kind of waiting pod, by scorer.</Note> : null}
    </Section>
  );
}

function Yaml({ path, pods }: { path: string; pods: readonly JobPod[] }) {
  const [pod, setPod] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [text, setText] = useState("");
  useEffect(() => {
    if (!isOpen) return;
    setText("");
    getText(pod ? `${path}?pod=${encodeURIComponent(pod)}` : path).then(setText, (error: unknown) => setText(messageOf(error)));
  }, [path, pod, isOpen]);
  return (
    <details class="card" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <h2>YAML</h2>
      </summary>
      <div class="toolbar">
        <select aria-label="Object" value={pod} onChange={(event) => setPod(event.currentTarget.value)}>
          <option value="">PodGroup</option>
          {pods.slice(0, 200).map((each) => (
            <option key={each.pod} value={each.pod}>
              {each.pod.slice(0, 80)}
            </option>
          ))}
        </select>
        <button type="button" onClick={() => void navigator.clipboard.writeText(text)}>
          Copy
        </button>
      </div>
      <pre tabIndex={0} aria-label="YAML">
        {text}
      </pre>
    </details>
  );
}

// What if: objects or policies tried on the present cluster. Nothing is written.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, post, session } from "../api/client";
import { messageOf } from "../api/resource";
import type { PlanReport, PlanRequest, Policy, PolicyDiff, SimulationReport } from "../api/types";
import { place, setQuery } from "../app/router";
import { Choice, Heading, JobLink, Note, Pending, Section } from "../parts/basics";
import { PlanResult } from "../parts/plan";
import { PolicyDifferences } from "../parts/policy_diff";
import { SimulationResult } from "../parts/simulation";

const MODES = [
  ["", "Submit objects"],
  ["policy", "Change the policy"],
  ["diff", "Compare two policies"],
  ["simulate", "Simulate"],
] as const;

/** Texts are kept while the page is open, also across other pages. */
const drafts = { manifests: "", policy: "", before: "" };

export function WhatIfPage() {
  const mode = place.value.query.get("mode") ?? "";
  const mayPolicy = session.value?.rights.policy ?? false;
  const [job, change] = [place.value.query.get("job") ?? "", place.value.query.get("change") ?? ""];
  return (
    <>
      <Heading title="What if" />
      <div class="toolbar">
        <Choice
          label="What to try"
          value={change ? "change" : mode}
          options={MODES.filter(([name]) => mayPolicy || name === "") as readonly (readonly [string, string])[]}
          choose={(value) => setQuery({ mode: value, job: "", change: "" }, true)}
        />
      </div>
      {job && change ? (
        <ChangeTrial job={job} change={change} />
      ) : mode === "policy" && mayPolicy ? (
        <PolicyTrial />
      ) : mode === "diff" && mayPolicy ? (
        <Comparison />
      ) : mode === "simulate" && mayPolicy ? (
        <Simulation />
      ) : (
        <ObjectTrial />
      )}
    </>
  );
}

interface Trial<T> {
  result: T | null;
  problem: string;
  isBusy: boolean;
  run(path: string, body: unknown): void;
}

function useTrial<T>(): Trial<T> {
  const [state, setState] = useState<{ result: T | null; problem: string; isBusy: boolean }>({ result: null, problem: "", isBusy: false });
  return {
    ...state,
    run(path, body) {
      setState((before) => ({ ...before, problem: "", isBusy: true }));
      post<T>(path, body).then(
        (result) => setState({ result, problem: "", isBusy: false }),
        (error: unknown) => setState({ result: null, problem: messageOf(error), isBusy: false }),
      );
    },
  };
}

function Outcome<T>({ trial, children }: { trial: Trial<T>; children(result: T): ComponentChildren }) {
  if (trial.problem) return <Pending problem={trial.problem} />;
  if (trial.isBusy && !trial.result) return <p class="note" role="status">Calculating on a copy of the cluster…</p>;
  return trial.result ? <div class={trial.isBusy ? "stale" : ""}>{children(trial.result)}</div> : null;
}

/** A change that the explanation of a job proposes; the page of the job links here. */
function ChangeTrial({ job, change }: { job: string; change: string }) {
  const trial = useTrial<PlanReport>();
  const namespace = session.value?.namespaces ? job.slice(0, job.indexOf("/")) : "";
  const run = () => trial.run("/api/plans", { namespace, job, change });
  useEffect(run, [job, change]);
  return (
    <>
      <Section
        title="A change"
        actions={
          <button type="button" onClick={run} disabled={trial.isBusy}>
            {trial.isBusy ? "Calculating…" : "Calculate again"}
          </button>
        }
      >
        <p class="full-text">
          <bdi class="reason">{change}</bdi>, so that <JobLink job={job} /> starts.
        </p>
        <Note>Calculated on a copy of the present cluster. Nothing is written.</Note>
      </Section>
      <Outcome trial={trial}>{(result) => <PlanResult report={result} first={job} />}</Outcome>
    </>
  );
}

function ObjectTrial() {
  const [text, setText] = useState(drafts.manifests);
  const [namespace, setNamespace] = useState(session.value?.namespaces?.[0] ?? "default");
  const trial = useTrial<PlanReport>();
  const request: PlanRequest = { namespace, manifests: text };
  return (
    <>
      <Form title="Objects to submit" label="Try" isBusy={trial.isBusy} submit={() => trial.run("/api/plans", request)}>
        <Editor label="YAML or JSON of objects" value={text} set={(value) => setText((drafts.manifests = value))} placeholder={EXAMPLE} />
        <label>
          Namespace of objects without one
          <input required value={namespace} onInput={(event) => setNamespace(event.currentTarget.value)} />
        </label>
      </Form>
      <Outcome trial={trial}>{(result) => <PlanResult report={result} />}</Outcome>
    </>
  );
}

function PolicyTrial() {
  const [text, setText, problem] = usePolicy("policy");
  const trial = useTrial<PlanReport>();
  return (
    <>
      <Form title="Policy" label="Plan with it" isBusy={trial.isBusy} submit={() => trial.run("/api/plans", { namespace: "", policy: text })}>
        {problem ? <p class="problem">{problem}</p> : null}
        <Editor label="Policy" value={text} set={setText} />
      </Form>
      <Outcome trial={trial}>{(result) => <PlanResult report={result} />}</Outcome>
    </>
  );
}

function Comparison() {
  const [before, setBefore, problem] = usePolicy("before");
  const [after, setAfter] = usePolicy("policy");
  const trial = useTrial<PolicyDiff>();
  return (
    <>
      <Form title="Two policies" label="Compare" isBusy={trial.isBusy} submit={() => trial.run("/api/policy-diffs", { before, after })}>
        {problem ? <p class="problem">{problem}</p> : null}
        <div class="columns">
          <Editor label="Before" value={before} set={setBefore} />
          <Editor label="After" value={after} set={setAfter} />
        </div>
      </Form>
      <Outcome trial={trial}>{(result) => <PolicyDifferences diff={result} />}</Outcome>
    </>
  );
}

function Simulation() {
  const [text, setText] = useState(drafts.manifests);
  const [hours, setHours] = useState(24);
  const [minutes, setMinutes] = useState(60);
  const trial = useTrial<SimulationReport>();
  const request = { manifests: text, seconds: Math.round(hours * 3600), runSeconds: Math.round(minutes * 60) };
  return (
    <>
      <Form title="The present cluster in virtual time" label="Simulate" isBusy={trial.isBusy} submit={() => trial.run("/api/simulations", request)}>
        <Editor label="Further objects (optional)" value={text} set={(value) => setText((drafts.manifests = value))} optional />
        <div class="toolbar">
          <Amount label="Simulated hours" value={hours} set={setHours} />
          <Amount label="Minutes that pods run without a duration of their own" value={minutes} set={setMinutes} />
        </div>
      </Form>
      <Outcome trial={trial}>{(result) => <SimulationResult report={result} />}</Outcome>
    </>
  );
}

/** A policy as text, that of the scheduler at first. */
function usePolicy(draft: "policy" | "before"): [string, (text: string) => void, string] {
  const [text, setText] = useState(drafts[draft]);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    if (drafts[draft]) return;
    get<Policy>("/api/policy").then(
      (policy) => setText((drafts[draft] = policy.text)),
      (error: unknown) => setProblem(messageOf(error)),
    );
  }, []);
  return [text, (value) => setText((drafts[draft] = value)), problem];
}

interface FormProps {
  title: string;
  label: string;
  isBusy: boolean;
  submit(): void;
  children: ComponentChildren;
}

function Form({ title, label, isBusy, submit, children }: FormProps) {
  return (
    <Section title={title}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        {children}
        <div class="toolbar">
          <button type="submit" class="primary" disabled={isBusy}>
            {isBusy ? "Calculating…" : label}
          </button>
          <Note>Calculated on a copy of the present cluster. Nothing is written.</Note>
        </div>
      </form>
    </Section>
  );
}

interface EditorProps {
  label: string;
  value: string;
  set(value: string): void;
  placeholder?: string;
  optional?: boolean;
}

/** A text that may also be read from a file. */
function Editor({ label, value, set, placeholder, optional }: EditorProps) {
  const read = (file: File | undefined) => {
    if (file) void file.text().then(set);
  };
  return (
    <div
      class="editor"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        read(event.dataTransfer?.files[0]);
      }}
    >
      <div class="toolbar">
        <span>{label}</span>
        <input type="file" aria-label={`Read ${label} from a file`} accept=".yaml,.yml,.json,.conf" onChange={(event) => read(event.currentTarget.files?.[0])} />
      </div>
      <textarea
        aria-label={label}
        rows={16}
        spellcheck={false}
        required={!optional}
        value={value}
        placeholder={placeholder}
        onInput={(event) => set(event.currentTarget.value)}
      />
    </div>
  );
}

function Amount({ label, value, set }: { label: string; value: number; set(value: number): void }) {
  return (
    <label>
      {label}
      <input type="number" min={1} required value={value} onInput={(event) => set(event.currentTarget.valueAsNumber)} />
    </label>
  );
}

const EXAMPLE = `apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata:
  name: train
spec:
  minAvailable: 4
  queue: default
  tasks:
    - replicas: 4
      template:
        spec:
          containers:
            - name: main
              image: train
              resources: {requests: {cpu: 4}}
`;

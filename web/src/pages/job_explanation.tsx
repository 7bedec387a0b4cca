// Why a job waits in full, and what would help: calculated on demand.
import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client";
import { messageOf, withQuery } from "../api/resource";
import type { JobExplanation, ProposedChange } from "../api/types";
import { go } from "../app/router";
import { JobLink, Note, Pending, Section } from "../parts/basics";

export function Explanation({ path, job }: { path: string; job: string }) {
  const [data, setData] = useState<JobExplanation | null>(null);
  const [problem, setProblem] = useState("");
  const [round, setRound] = useState(0);
  const [isBusy, setBusy] = useState(true);
  useEffect(() => {
    const abort = new AbortController();
    setBusy(true);
    get<JobExplanation>(`${path}/explanation`, abort.signal).then(
      (next) => {
        setData(next);
        setProblem("");
        setBusy(false);
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        setProblem(messageOf(error));
        setBusy(false);
      },
    );
    return () => abort.abort();
  }, [path, round]);
  return (
    <>
      <Section
        title="What would help"
        actions={
          <button type="button" onClick={() => setRound(round + 1)} disabled={isBusy}>
            {isBusy ? "Calculating…" : "Calculate again"}
          </button>
        }
      >
        {data ? <Changes data={data} job={job} /> : isBusy ? <Note>The scheduler is run again with changes, to verify them.</Note> : <Pending problem={problem} />}
        {data && problem ? <p class="problem">{problem}</p> : null}
      </Section>
      {data?.reasons.length ? <Findings data={data} /> : null}
    </>
  );
}

function Changes({ data, job }: { data: JobExplanation; job: string }) {
  if (!data.waiting) return <Note>It does not wait: the next cycle starts it, or has started it.</Note>;
  const { smallestChange, alternatives } = data;
  if (!smallestChange) return <Note>No single change was found that lets it start.</Note>;
  return (
    <>
      <Change job={job} change={smallestChange} label="The smallest change that lets it start" />
      {alternatives.map((each) => (
        <Change key={each.description} job={job} change={each} label="or" />
      ))}
      <Note>Each was verified by running the scheduler again on the present cluster.</Note>
    </>
  );
}

function Change({ job, change, label }: { job: string; change: ProposedChange; label: string }) {
  return (
    <div class="change">
      <p>
        <span class="note">{label}</span>
        <bdi class="reason">{change.description}</bdi>
      </p>
      <button type="button" onClick={() => go(withQuery("/what-if", { job, change: change.description }))}>
        Try it
      </button>
    </div>
  );
}

function Findings({ data }: { data: JobExplanation }) {
  return (
    <Section title="In full">
      {data.reasons.map((each) => (
        <article class="finding" key={each.code}>
          <h3>
            <code>{each.code}</code> <span class="note">{each.remedy}</span>
          </h3>
          {each.messages.map((message) => (
            <p class="full-text" key={message}>
              <bdi>{message}</bdi>
            </p>
          ))}
          <p class="small">
            {each.meaning} {each.advice}
          </p>
          {each.retryEvents.length ? <p class="note">May change when: {each.retryEvents.join("; ")}.</p> : null}
        </article>
      ))}
      {data.ahead.length ? (
        <p class="small">
          Considered earlier:{" "}
          {data.ahead.slice(0, 10).map((each) => (
            <span key={each.job}>
              <JobLink job={each.job} />{" "}
            </span>
          ))}
        </p>
      ) : null}
    </Section>
  );
}

import { render } from "preact";
import { useEffect } from "preact/hooks";
import { connection, loadSession, session } from "./api/client";
import { open } from "./api/stream";
import { startKeys } from "./app/keys";
import { place } from "./app/router";
import { Shell } from "./app/shell";
import { DecisionsPage } from "./pages/decisions";
import { HistoryPage } from "./pages/history";
import { JobPage } from "./pages/job";
import { JobsPage } from "./pages/jobs";
import { Login } from "./pages/login";
import { NodesPage } from "./pages/nodes";
import { OverviewPage } from "./pages/overview";
import { QueuesPage } from "./pages/queues";
import { WhatIfPage } from "./pages/what_if";
import { Heading } from "./parts/basics";
import "./styles/console.css";

function App() {
  const isIn = Boolean(session.value);
  useEffect(() => {
    if (isIn) open();
  }, [isIn]);
  if (session.value === undefined)
    return <main class="login">{connection.value === "away" ? <p role="alert">The server does not answer. Connecting again…</p> : null}</main>;
  if (session.value === null) return <Login />;
  return (
    <Shell>
      <Page />
    </Shell>
  );
}

function Page() {
  const parts = place.value.path.split("/").filter(Boolean).map(decoded);
  const [page = "", first = "", second = ""] = parts;
  switch (parts.length > 3 ? "?" : page) {
    case "":
      return <OverviewPage />;
    case "jobs":
      return second ? <JobPage key={`${first}/${second}`} namespace={first} podGroup={second} /> : <JobsPage />;
    case "queues":
      return <QueuesPage name={first} />;
    case "nodes":
      return <NodesPage name={first} />;
    case "decisions":
      return <DecisionsPage number={first} />;
    case "what-if":
      return <WhatIfPage />;
    case "history":
      return <HistoryPage />;
    default:
      return (
        <>
          <Heading title="No such page" />
          <p>There is no page at this address.</p>
        </>
      );
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Ask for the session until the server answers. */
function start(): void {
  loadSession().catch(() => window.setTimeout(start, 2_000));
}

const host = document.getElementById("app");
if (host) {
  startKeys();
  render(<App />, host);
  start();
}

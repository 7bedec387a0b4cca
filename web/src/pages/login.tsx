// Login by a token of the API server, or by the code of the link that the server printed.
import { useEffect, useState } from "preact/hooks";
import { post, session } from "../api/client";
import { messageOf } from "../api/resource";
import type { Session } from "../api/types";

/** The code of a printed link. It is removed from the address, so that it stays in no history. */
function codeOfLink(): string {
  const code = new URLSearchParams(location.hash.slice(1)).get("code") ?? "";
  if (code) history.replaceState(null, "", location.pathname + location.search);
  return code;
}

let linkCode = codeOfLink();

export function Login() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);

  const enter = async (request: { token?: string; code?: string }) => {
    setBusy(true);
    setProblem("");
    try {
      session.value = await post<Session>("/api/session", request);
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };

  useEffect(() => {
    document.title = "Log in · Stromboli";
    const follow = () => {
      if (linkCode) void enter({ code: linkCode });
      linkCode = "";
    };
    // A link that is pasted into an open login changes the fragment only.
    const pasted = () => {
      linkCode = codeOfLink();
      follow();
    };
    follow();
    window.addEventListener("hashchange", pasted);
    return () => window.removeEventListener("hashchange", pasted);
  }, []);

  return (
    <main class="login" id="main">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          void enter({ token: token.trim() });
        }}
      >
        <img src="/icon.svg" alt="" width="44" height="44" />
        <h1>Stromboli</h1>
        <label for="token">Token of the API server</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          required
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        {problem ? (
          <p class="problem" role="alert">
            {problem}
          </p>
        ) : null}
        <button type="submit" class="primary" disabled={isBusy}>
          Log in
        </button>
        <p class="note">
          <code>kubectl create token NAME</code> makes a token of a ServiceAccount. You see the jobs of the namespaces in
          which it may read PodGroups.
        </p>
      </form>
    </main>
  );
}

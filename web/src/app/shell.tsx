// The frame of every page: navigation, search, state of the connection, help.
import { effect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { connection, remove, session } from "../api/client";
import { close } from "../api/stream";
import { Name } from "../parts/basics";
import { isHelpOpen } from "./keys";
import { PAGES } from "./pages";
import { go, Link, place } from "./router";
import { theme, toggleTheme } from "./theme";

export function Shell({ children }: { children: ComponentChildren }) {
  const path = place.value.path;
  const isCurrent = (page: string) => (page === "/" ? path === "/" : path === page || path.startsWith(`${page}/`));
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <Link href="/" class="brand" title="Overview">
          <img src="/icon.svg" alt="" width="22" height="22" />
          <span>Stromboli</span>
        </Link>
        <nav aria-label="Pages">
          {PAGES.map((page) => (
            <Link key={page.path} href={page.path} current={isCurrent(page.path)}>
              {page.title}
            </Link>
          ))}
        </nav>
        <JobSearch />
        <State />
        <button type="button" class="icon" onClick={toggleTheme} aria-label={`Use the ${other()} theme`} title="Theme">
          {theme.value === "dark" ? "☀" : "☾"}
        </button>
        <button type="button" class="icon" onClick={() => (isHelpOpen.value = true)} aria-label="Keys" title="Keys (?)">
          ?
        </button>
        <Person />
      </header>
      {connection.value === "away" ? (
        <div class="banner" role="alert">
          The server does not answer. The page shows what it read last, and connects again by itself.
        </div>
      ) : null}
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <Help />
    </>
  );
}

function other(): string {
  return theme.value === "dark" ? "light" : "dark";
}

function JobSearch() {
  const [text, setText] = useState("");
  return (
    <form
      class="search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        go(`/jobs?search=${encodeURIComponent(text.trim())}`);
        setText("");
      }}
    >
      <input
        type="search"
        placeholder="Find a job"
        aria-label="Find a job"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </form>
  );
}

const STATES = { live: "Live", connecting: "Connecting", away: "No connection" };

function State() {
  return (
    <span class={`state ${connection.value}`} role="status">
      {STATES[connection.value]}
    </span>
  );
}

function Person() {
  const person = session.value;
  if (!person) return null;
  return (
    <details class="person">
      <summary aria-label="Session">
        <Name>{person.user.split(":").at(-1) ?? person.user}</Name>
      </summary>
      <div class="menu">
        <p>
          <Name>{person.user}</Name>
        </p>
        <p class="note">
          {person.namespaces === null ? "Reads all namespaces" : `Reads ${person.namespaces.join(", ") || "no namespace"}`}
        </p>
        <button
          type="button"
          onClick={() => {
            close();
            void remove("/api/session").finally(() => (session.value = null));
          }}
        >
          Log out
        </button>
      </div>
    </details>
  );
}

function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(
    () =>
      effect(() => {
        if (isHelpOpen.value) dialog.current?.showModal();
      }),
    [],
  );
  return (
    <dialog ref={dialog} aria-label="Keys" onClose={() => (isHelpOpen.value = false)}>
      <h2>Keys</h2>
      <dl class="keys">
        <div>
          <dt>
            <kbd>/</kbd>
          </dt>
          <dd>search</dd>
        </div>
        {PAGES.map((page) => (
          <div key={page.path}>
            <dt>
              <kbd>g</kbd> <kbd>{page.key}</kbd>
            </dt>
            <dd>{page.title}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>↑</kbd> <kbd>↓</kbd> <kbd>Enter</kbd>
          </dt>
          <dd>move in a table that has the focus, and open a row</dd>
        </div>
      </dl>
      <form method="dialog">
        <button>Close</button>
      </form>
    </dialog>
  );
}

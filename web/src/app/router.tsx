// Every page and every filter is a link: path and query are the state of the page.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";

export interface Place {
  path: string;
  query: URLSearchParams;
}

export const place = signal<Place>(present());

function present(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

window.addEventListener("popstate", () => {
  place.value = present();
});

export function go(href: string): void {
  history.pushState(null, "", href);
  place.value = present();
  window.scrollTo(0, 0);
}

/** Change values of the query; an empty value removes one. Filters replace the entry of the history. */
export function setQuery(changes: Record<string, string>, push = false): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  const href = location.pathname + (text ? `?${text}` : "");
  if (push) history.pushState(null, "", href);
  else history.replaceState(null, "", href);
  place.value = present();
}

interface LinkProps {
  href: string;
  children: ComponentChildren;
  class?: string;
  title?: string;
  current?: boolean;
}

export function Link({ href, children, current, ...rest }: LinkProps) {
  return (
    <a
      {...rest}
      href={href}
      aria-current={current ? "page" : undefined}
      onClick={(event) => {
        if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        go(href);
      }}
    >
      {children}
    </a>
  );
}

// Keys of the whole page: `/` searches, `g` and a letter goes to a page, `?` shows them.
import { signal } from "@preact/signals";
import { go } from "./router";
import { PAGES } from "./pages";

export const isHelpOpen = signal(false);

let prefix = 0;

export function startKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const follows = event.timeStamp - prefix < 1_500;
    prefix = 0;
    const page = follows ? PAGES.find((each) => each.key === event.key) : undefined;
    if (page) go(page.path);
    else if (event.key === "g") prefix = event.timeStamp;
    else if (event.key === "?") isHelpOpen.value = true;
    else if (event.key === "/") focusSearch();
    else return;
    event.preventDefault();
  });
}

/** The search of the page if it has one, and that of the header otherwise. */
function focusSearch(): void {
  const fields = [...document.querySelectorAll<HTMLInputElement>("input[type=search]")];
  (fields.find((each) => each.closest("main")) ?? fields[0])?.focus();
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable);
}

// Light or dark: that of the system unless it was chosen here.
import { signal } from "@preact/signals";

export type Theme = "light" | "dark";

const KEY = "stromboli.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const chosen = localStorage.getItem(KEY);

export const theme = signal<Theme>(chosen === "light" || chosen === "dark" ? chosen : ofSystem());

function ofSystem(): Theme {
  return system.matches ? "dark" : "light";
}

system.addEventListener("change", () => {
  if (!localStorage.getItem(KEY)) theme.value = ofSystem();
});

theme.subscribe((value) => {
  document.documentElement.dataset["theme"] = value;
});

export function toggleTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem(KEY, theme.value);
}

export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

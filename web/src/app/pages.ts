// The pages of the navigation, with the key that follows `g`.
export interface PageEntry {
  path: string;
  title: string;
  key: string;
}

export const PAGES: readonly PageEntry[] = [
  { path: "/", title: "Overview", key: "o" },
  { path: "/jobs", title: "Jobs", key: "j" },
  { path: "/queues", title: "Queues", key: "q" },
  { path: "/nodes", title: "Nodes", key: "n" },
  { path: "/decisions", title: "Decisions", key: "d" },
  { path: "/what-if", title: "What if", key: "w" },
  { path: "/history", title: "History", key: "h" },
];

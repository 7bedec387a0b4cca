// Numbers and times as people read them.
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

export function isBytes(resource: string): boolean {
  return /(^|[./])(memory|storage)$|^ephemeral-storage$|^hugepages-/.test(resource);
}

/** An amount in the base unit of its resource, short. */
export function amount(resource: string, value: number | null): string {
  if (value === null) return "no limit";
  if (!isBytes(resource)) return count(value);
  let [size, step] = [value, 0];
  while (size >= 1024 && step < BINARY.length - 1) [size, step] = [size / 1024, step + 1];
  return `${round(size)}${BINARY[step]}`;
}

export function count(value: number): string {
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en-US") : String(round(value));
}

function round(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Math.round(value * 10) / 10;
}

export function percent(part: number): string {
  return `${Math.round(part * 100)} %`;
}

export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** Seconds as the two largest units. */
export function duration(seconds: number): string {
  if (seconds > 0 && seconds < 10) return `${round(seconds)} s`;
  const total = Math.max(0, Math.round(seconds));
  if (total < 60) return `${total} s`;
  const [days, hours, minutes] = [Math.floor(total / 86400), Math.floor(total / 3600) % 24, Math.floor(total / 60) % 60];
  if (days) return hours ? `${days} d ${hours} h` : `${days} d`;
  if (hours) return minutes ? `${hours} h ${minutes} min` : `${hours} h`;
  return total % 60 && minutes < 10 ? `${minutes} min ${total % 60} s` : `${minutes} min`;
}

export function now(): number {
  return Date.now() / 1000;
}

export function age(since: number): string {
  return since ? duration(now() - since) : "";
}

/** A short resource name: the part after the domain. */
export function shortResource(resource: string): string {
  return resource.slice(resource.lastIndexOf("/") + 1);
}

export function clock(seconds: number): string {
  const date = new Date(seconds * 1000);
  const isToday = date.toDateString() === new Date().toDateString();
  const time = date.toLocaleTimeString("en-GB");
  return isToday ? time : `${date.toLocaleDateString("en-CA")} ${time}`;
}

export function parsed(stamp: string | null): number {
  return stamp ? Date.parse(stamp) / 1000 : 0;
}

/** When a job is expected to start, from now. */
export function expected(earliest: number, latest: number): string {
  if (!earliest) return "";
  const from = earliest - now();
  const start = from <= 30 ? "now" : `in ${duration(from)}`;
  if (!latest || latest - earliest < 60) return start;
  return `${start} – ${duration(latest - now())}`;
}

/** The resources in the order in which people look for them: accelerators, cpu, memory, others. */
export function ordered(resources: readonly string[]): string[] {
  const rank = (name: string) => (name === "cpu" ? 1 : name === "memory" ? 2 : name.includes("/") ? 0 : 3);
  return [...resources].sort((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1));
}

// A table of any number of rows, of which only the visible ones are in the page.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface Column<T> {
  id: string;
  title: string;
  /** A width of CSS grid. */
  width: string;
  cell(row: T): ComponentChildren;
  /** Compares two rows upwards; without it the column does not sort. */
  compare?(one: T, other: T): number;
  numeric?: boolean;
  /** Left out on narrow screens. */
  minor?: boolean;
}

interface TableProps<T> {
  label: string;
  rows: readonly T[];
  columns: readonly Column<T>[];
  keyOf(row: T): string;
  /** A column, with `-` before it for descending. */
  sort: string;
  sortBy(sort: string): void;
  open(row: T): void;
  /** Not higher than its rows, on a page with other parts. */
  fits?: boolean;
}

const ROW = 36;
const MARGIN = 8;

export function sorted<T>(rows: readonly T[], columns: readonly Column<T>[], sort: string): readonly T[] {
  const isDescending = sort.startsWith("-");
  const compare = columns.find((each) => each.id === sort.replace(/^-/, ""))?.compare;
  if (!compare) return rows;
  return [...rows].sort(isDescending ? (one, other) => compare(other, one) : compare);
}

export function VirtualTable<T>({ label, rows, columns, keyOf, sort, sortBy, open, fits }: TableProps<T>) {
  const host = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const [active, setActive] = useState(-1);
  const first = Math.max(0, Math.floor(view.top / ROW) - MARGIN);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW) + MARGIN);

  useEffect(() => {
    const element = host.current;
    if (!element) return undefined;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);

  useEffect(() => {
    host.current?.style.setProperty("--columns", columns.map((each) => each.width).join(" "));
    const major = columns.filter((each) => !each.minor);
    host.current?.style.setProperty("--narrow-columns", major.map((each) => each.width).join(" "));
  }, [columns]);

  const move = (to: number) => {
    const element = host.current;
    const next = Math.max(0, Math.min(rows.length - 1, to));
    setActive(next);
    if (!element) return;
    const visible = element.clientHeight - ROW;
    if (next * ROW < element.scrollTop) element.scrollTop = next * ROW;
    else if ((next + 1) * ROW > element.scrollTop + visible) element.scrollTop = (next + 1) * ROW - visible;
  };

  const press = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(view.height / ROW) - 2);
    const target: Record<string, number> = {
      ArrowDown: active + 1, j: active + 1, ArrowUp: active - 1, k: active - 1,
      PageDown: active + page, PageUp: active - page, Home: 0, End: rows.length - 1,
    };
    const row = rows[active];
    const to = target[event.key];
    if (to !== undefined && !event.metaKey && !event.ctrlKey) move(to);
    else if (event.key === "Enter" && row && event.target === host.current) open(row);
    else return;
    event.preventDefault();
  };

  return (
    // A table of this size has focus as a whole; the arrow keys move a mark, and Enter opens its row.
    <div
      class="virtual"
      ref={host}
      tabIndex={0}
      role="table"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      style={fits ? { height: `min(34rem, ${(rows.length + 1) * ROW + 12}px)` } : {}}
      onKeyDown={press}
    >
      <div role="rowgroup" class="head">
        <div role="row" aria-rowindex={1} class="row">
          {columns.map((column) => (
            <div
              key={column.id}
              role="columnheader"
              class={cellClass(column)}
              aria-sort={sortOf(column.id, sort)}
            >
              {column.compare ? (
                <button type="button" onClick={() => sortBy(sort === column.id ? `-${column.id}` : column.id)}>
                  {column.title}
                  <span aria-hidden="true">{sort === column.id ? " ▲" : sort === `-${column.id}` ? " ▼" : ""}</span>
                </button>
              ) : (
                column.title
              )}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup" class="body" style={{ height: `${rows.length * ROW}px` }}>
        {rows.slice(first, last).map((row, offset) => {
          const at = first + offset;
          return (
            <div
              key={keyOf(row)}
              role="row"
              aria-rowindex={at + 2}
              class={`row ${at === active ? "active" : ""}`}
              style={{ transform: `translateY(${at * ROW}px)` }}
              onClick={(event) => {
                if (!(event.target as Element).closest("a, button") && !getSelection()?.toString()) open(row);
              }}
            >
              {columns.map((column) => (
                <div key={column.id} role="cell" class={cellClass(column)}>
                  {column.cell(row)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function cellClass<T>(column: Column<T>): string {
  return [column.numeric && "numeric", column.minor && "minor"].filter(Boolean).join(" ");
}

function sortOf(id: string, sort: string): "ascending" | "descending" | undefined {
  return sort === id ? "ascending" : sort === `-${id}` ? "descending" : undefined;
}

export function byText<T>(value: (row: T) => string): (one: T, other: T) => number {
  return (one, other) => {
    const [a, b] = [value(one), value(other)];
    return a < b ? -1 : a > b ? 1 : 0;
  };
}

export function byNumber<T>(value: (row: T) => number): (one: T, other: T) => number {
  return (one, other) => value(one) - value(other);
}

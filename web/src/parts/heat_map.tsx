// Nodes as cells, grouped by domain: filled by what is used and reserved, on a canvas.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { NodeColumns } from "../api/types";
import { colour, theme } from "../app/theme";
import { amount, plural } from "./format";

export interface NodeGroup {
  title: string;
  /** Indices of its nodes. */
  nodes: readonly number[];
}

interface HeatMapProps {
  nodes: NodeColumns;
  groups: readonly NodeGroup[];
  resource: string;
  selected: string;
  select(node: string): void;
}

interface Cell {
  node: number;
  x: number;
  y: number;
}

interface Label {
  text: string;
  x: number;
  y: number;
  width: number;
}

interface Plan {
  cells: readonly Cell[];
  labels: readonly Label[];
  size: number;
  height: number;
}

const GAP = 3;
const LABEL = 18;
const BETWEEN = 14;
const SIZES = [36, 30, 25, 21, 18, 15, 12];
const MIN_SIZE = 10;
const MAX_HEIGHT = 440;
/** Groups with at most so many nodes stand beside each other. */
const SMALL = 16;

export function HeatMap({ nodes, groups, resource, selected, select }: HeatMapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [pointed, setPointed] = useState(-1);
  const plan = useMemo(() => planOf(groups, width), [groups, width]);
  const shade = theme.value;
  const at = nodes.names.indexOf(selected);

  useEffect(() => {
    const element = canvas.current?.parentElement;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    if (canvas.current && width) draw(canvas.current, width, plan, nodes, resource, at, pointed);
  }, [plan, nodes, resource, at, pointed, shade, width]);

  const cellAt = (event: MouseEvent) => {
    const { left, top } = (event.currentTarget as Element).getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const inside = (cell: Cell) => x >= cell.x && x < cell.x + plan.size && y >= cell.y && y < cell.y + plan.size;
    return plan.cells.find(inside)?.node ?? -1;
  };
  const move = (step: number) => {
    const order = plan.cells.findIndex((each) => each.node === (pointed >= 0 ? pointed : at));
    const next = plan.cells[Math.max(0, Math.min(plan.cells.length - 1, order + step))];
    if (next) setPointed(next.node);
  };
  const press = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 8, ArrowUp: -8 };
    const step = steps[event.key];
    if (step !== undefined) move(step);
    else if (event.key === "Enter" && pointed >= 0) select(nodes.names[pointed] ?? "");
    else return;
    event.preventDefault();
  };
  const shown = pointed >= 0 ? pointed : at;

  return (
    <div class="heat-map">
      <div>
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-label={`${nodes.names.length} nodes by ${resource}. Arrow keys move, Enter opens a node. The table below shows the same.`}
          onMouseMove={(event) => setPointed(cellAt(event))}
          onMouseLeave={() => setPointed(-1)}
          onClick={(event) => {
            const node = cellAt(event);
            if (node >= 0) select(nodes.names[node] ?? "");
          }}
          onKeyDown={press}
        />
      </div>
      <p class="readout" role="status">
        {shown >= 0 ? describe(nodes, shown, resource) : "Point at a node to see its amounts, and click to see its jobs."}
      </p>
    </div>
  );
}

function describe(nodes: NodeColumns, at: number, resource: string) {
  const value = (column: Record<string, number[]>) => column[resource]?.[at] ?? 0;
  const [capacity, used, reserved] = [value(nodes.capacity), value(nodes.used), value(nodes.reserved)];
  const parts = [
    nodes.statuses[at] !== "Ready" && nodes.statuses[at],
    capacity ? `${resource}: ${amount(resource, used)} of ${amount(resource, capacity)} used` : `no ${resource}`,
    reserved > 0 && `${amount(resource, reserved)} reserved`,
    nodes.fragmented[at] && used + reserved < capacity && "fragmented: no waiting pod fits",
    plural(nodes.pods[at] ?? 0, "pod"),
    nodes.obstacles[at],
  ].filter(Boolean);
  return (
    <>
      <strong>
        <bdi>{nodes.names[at]}</bdi>
      </strong>{" "}
      <bdi>{parts.join(" · ")}</bdi>
    </>
  );
}

/** The plan with the largest cells that is not higher than a screen. */
function planOf(groups: readonly NodeGroup[], width: number): Plan {
  const plans = SIZES.map((size) => planWith(groups, width, size));
  return plans.find((each) => each.height <= MAX_HEIGHT) ?? planWith(groups, width, MIN_SIZE);
}

function planWith(groups: readonly NodeGroup[], width: number, size: number): Plan {
  const pitch = size + GAP;
  const [cells, labels]: [Cell[], Label[]] = [[], []];
  let [x, y, rowHeight] = [0, 0, 0];
  for (const group of groups) {
    const perRow = Math.max(1, Math.min(Math.floor(width / pitch), group.nodes.length <= SMALL ? 8 : 16));
    const columns = Math.max(Math.min(perRow, group.nodes.length), Math.ceil(96 / pitch));
    const blockWidth = columns * pitch;
    const blockHeight = LABEL + Math.ceil(group.nodes.length / perRow) * pitch;
    if (x > 0 && x + blockWidth > width) [x, y, rowHeight] = [0, y + rowHeight + BETWEEN, 0];
    labels.push({ text: group.title, x, y, width: blockWidth });
    const [left, top] = [x, y + LABEL];
    group.nodes.forEach((node, index) => {
      cells.push({ node, x: left + (index % perRow) * pitch, y: top + Math.floor(index / perRow) * pitch });
    });
    x += blockWidth + BETWEEN;
    rowHeight = Math.max(rowHeight, blockHeight);
  }
  return { cells, labels, size, height: y + rowHeight + 4 };
}

function draw(
  canvas: HTMLCanvasElement,
  width: number,
  plan: Plan,
  nodes: NodeColumns,
  resource: string,
  selected: number,
  pointed: number,
): void {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(plan.height * scale);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${plan.height}px`;
  const context = canvas.getContext("2d");
  if (!context) return;
  context.scale(scale, scale);
  const paint = Object.fromEntries(
    ["free", "used", "reserved", "fragmented", "bad", "muted", "text", "absent"].map((name) => [name, colour(name)]),
  ) as Record<string, string>;
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "top";
  context.fillStyle = paint["muted"] ?? "";
  for (const label of plan.labels) context.fillText(clipped(context, label.text, label.width - 4), label.x, label.y);
  const { size } = plan;
  for (const { node, x, y } of plan.cells) {
    const capacity = nodes.capacity[resource]?.[node] ?? 0;
    const part = (column: Record<string, number[]>) => (capacity ? Math.min(1, (column[resource]?.[node] ?? 0) / capacity) : 0);
    const [used, reserved] = [part(nodes.used) * size, part(nodes.reserved) * size];
    const fill = (name: string, top: number, height: number) => {
      context.fillStyle = paint[name] ?? "";
      context.fillRect(x, y + top, size, height);
    };
    fill(capacity ? "free" : "absent", 0, size);
    fill("used", size - used, used);
    fill("reserved", Math.max(0, size - used - reserved), Math.min(reserved, size - used));
    const status = nodes.statuses[node] ?? "";
    if (nodes.fragmented[node] && used + reserved < size) outline(context, paint["fragmented"], x + 1, y + 1, size - 2, 2);
    if (status !== "Ready") cross(context, status.startsWith("NotReady") ? paint["bad"] : paint["muted"], x, y, size);
    if (node === selected) outline(context, paint["text"], x - 1, y - 1, size + 2, 2);
    else if (node === pointed) outline(context, paint["muted"], x - 1, y - 1, size + 2, 2);
  }
}

function outline(context: CanvasRenderingContext2D, stroke: string | undefined, x: number, y: number, size: number, width: number): void {
  context.strokeStyle = stroke ?? "";
  context.lineWidth = width;
  context.strokeRect(x, y, size, size);
}

function cross(context: CanvasRenderingContext2D, stroke: string | undefined, x: number, y: number, size: number): void {
  context.strokeStyle = stroke ?? "";
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(x + 3, y + 3);
  context.lineTo(x + size - 3, y + size - 3);
  context.moveTo(x + size - 3, y + 3);
  context.lineTo(x + 3, y + size - 3);
  context.stroke();
}

function clipped(context: CanvasRenderingContext2D, text: string, width: number): string {
  let end = Math.min(text.length, 200);
  if (end === text.length && context.measureText(text).width <= width) return text;
  while (end > 0 && context.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
  return `${text.slice(0, end)}…`;
}

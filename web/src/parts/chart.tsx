// Lines over time, drawn on a canvas by uPlot.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { colour, theme } from "../app/theme";
import { clock } from "./format";

export interface Line {
  name: string;
  values: readonly (number | null)[];
  /** Fill below the line. */
  filled?: boolean;
}

interface ChartProps {
  label: string;
  times: readonly number[];
  lines: readonly Line[];
  /** How values are written on the axis and in the legend. */
  format(value: number): string;
  /** The upper end of the axis, if it is fixed. */
  max?: number;
  isCount?: boolean;
  height?: number;
}

const COLOURS = 8;
/** The shortest axis of time. */
const MIN_SECONDS = 60;
/** Steps of an axis of counts. */
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 50_000, 100_000, 1_000_000];

export function Chart({ label, times, lines, format, max, isCount, height = 190 }: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const names = lines.map((each) => each.name).join("\n");
  const shade = theme.value;

  useEffect(() => {
    const element = host.current;
    if (!element) return undefined;
    const options = optionsOf(lines, format, max, isCount, element.clientWidth, height);
    const made = new uPlot(options, dataOf(times, lines), element);
    chart.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      chart.current = null;
    };
  }, [names, shade, max, height]);

  useEffect(() => {
    chart.current?.setData(dataOf(times, lines));
    if (chart.current) showLatest(chart.current);
  }, [times, lines]);

  return <div class="chart" ref={host} role="img" aria-label={`${label}. ${latest(lines, format)}`} />;
}

function latest(lines: readonly Line[], format: (value: number) => string): string {
  return lines
    .map(({ name, values }) => {
      const value = values.findLast((each) => each !== null);
      return `${name}: ${value === undefined || value === null ? "unknown" : format(value)}`;
    })
    .join(", ");
}

function showLatest(plot: uPlot): void {
  plot.setLegend({ idx: plot.data[0].length - 1 }, false);
}

function dataOf(times: readonly number[], lines: readonly Line[]): uPlot.AlignedData {
  if (times.length !== 1) return [[...times], ...lines.map((each) => [...each.values])];
  // A single value is drawn as a line of a second: an axis needs two.
  const [time = 0] = times;
  return [[time - 1, time], ...lines.map(({ values }) => [values[0] ?? null, values[0] ?? null])];
}

function optionsOf(
  lines: readonly Line[],
  format: (value: number) => string,
  max: number | undefined,
  isCount: boolean | undefined,
  width: number,
  height: number,
): uPlot.Options {
  const axis = { stroke: colour("muted"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false } };
  return {
    width,
    height,
    cursor: { y: false, points: { size: 7 } },
    // Without a pointer the legend shows the latest values.
    hooks: {
      ready: [showLatest, (plot) => plot.over.addEventListener("mouseleave", () => showLatest(plot))],
    },
    scales: {
      x: { time: true, range: (_plot, first, last) => [first ?? 0, Math.max(last ?? 0, (first ?? 0) + MIN_SECONDS)] },
      y: { range: (_plot, _low, high) => [0, max ?? Math.max(1, (high ?? 0) * 1.08)] },
    },
    axes: [
      { ...axis, size: 28, values: (_plot, ticks, _axis, _space, step) => ticks.map((each) => tick(each, step)) },
      { ...axis, size: 52, values: (_plot, ticks) => ticks.map(format), ...(isCount ? { incrs: WHOLE } : {}) },
    ],
    series: [
      { value: (_plot, value) => (value === null ? "" : clock(value)), label: "time" },
      ...lines.map((each, at) => {
        const stroke = colour(`series-${(at % COLOURS) + 1}`);
        return {
          label: each.name,
          stroke,
          width: 2,
          ...(each.filled ? { fill: `${stroke}22` } : {}),
          points: { show: false },
          value: (_plot: uPlot, value: number | null) => (value === null ? "–" : format(value)),
        };
      }),
    ],
  };
}

/** A time on the axis, with what changes between two of them. */
function tick(seconds: number, step: number): string {
  const date = new Date(seconds * 1000);
  if (step >= 86_400 || (step >= 3_600 && date.getHours() === 0)) return date.toLocaleDateString("en-CA").slice(5);
  const text = date.toLocaleTimeString("en-GB");
  return step < 60 ? text : text.slice(0, 5);
}

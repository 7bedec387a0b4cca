// Bars of amounts: of a resource of the cluster, and of a queue with its limits.
import type { QueueAmounts, ResourceTotal } from "../api/types";
import { amount, percent } from "./format";

interface Part {
  kind: "used" | "reserved" | "fragmented" | "borrowed" | "requested";
  size: number;
}

function Parts({ parts, whole }: { parts: readonly Part[]; whole: number }) {
  let at = 0;
  return (
    <>
      {parts.map(({ kind, size }) => {
        const width = whole > 0 ? Math.max(0, Math.min(size, whole - at)) : 0;
        const left = at;
        at += width;
        return width > 0 ? (
          <rect class={kind} key={kind} x={percentOf(left, whole)} width={percentOf(width, whole)} height="100%" />
        ) : null;
      })}
    </>
  );
}

function percentOf(value: number, whole: number): string {
  return `${whole > 0 ? (100 * value) / whole : 0}%`;
}

/** Used, reserved and fragmented parts of a resource. */
export function ResourceBar({ total }: { total: ResourceTotal }) {
  const { resource, capacity, used, reserved, fragmented } = total;
  const label =
    `${resource}: ${amount(resource, used)} of ${amount(resource, capacity)} used, ` +
    `${amount(resource, reserved)} reserved, ${amount(resource, fragmented)} fragmented`;
  const parts: Part[] = [
    { kind: "used", size: used },
    { kind: "reserved", size: reserved },
    { kind: "fragmented", size: fragmented },
  ];
  return (
    <svg class="bar" role="img" aria-label={label} height="14">
      <Parts parts={parts} whole={capacity} />
    </svg>
  );
}

/** The allocation of a queue within what it deserves and beyond, with its limits as marks. `whole` is the scale. */
export function QueueBar({ amounts, whole }: { amounts: QueueAmounts; whole: number }) {
  const { resource, allocated, deserved, guarantee, capability, borrowed, requested } = amounts;
  const parts: Part[] = [
    { kind: "used", size: allocated - borrowed },
    { kind: "borrowed", size: borrowed },
    { kind: "requested", size: requested },
  ];
  const marks = [
    ["guarantee", guarantee > 0 ? guarantee : null],
    ["deserved", deserved],
    ["capability", capability],
  ] as const;
  const label = [
    `${resource}: allocated ${amount(resource, allocated)}`,
    borrowed > 0 && `of which borrowed ${amount(resource, borrowed)}`,
    deserved !== null && `deserved ${amount(resource, deserved)}`,
    guarantee > 0 && `guarantee ${amount(resource, guarantee)}`,
    `capability ${amount(resource, capability)}`,
    requested > 0 && `requested by waiting jobs ${amount(resource, requested)}`,
  ].filter(Boolean);
  return (
    <svg class="bar queue" role="img" aria-label={label.join(", ")} height="18">
      <title>{label.join("\n")}</title>
      <Parts parts={parts} whole={whole} />
      {marks.map(([kind, value]) =>
        value !== null && value <= whole ? (
          <rect key={kind} class={`mark ${kind}`} x={percentOf(value, whole)} width="3" height="100%" transform="translate(-2 0)" />
        ) : null,
      )}
    </svg>
  );
}

/** The largest amount that the bars of these queues show. */
export function scaleOf(amounts: readonly (QueueAmounts | undefined)[]): number {
  const values = amounts.flatMap((each) =>
    each ? [each.allocated, each.deserved ?? 0, each.guarantee, finite(each)] : [],
  );
  return Math.max(0, ...values) * 1.02;
}

function finite({ capability }: QueueAmounts): number {
  return capability ?? 0;
}

export function QueueLegend() {
  return (
    <ul class="legend" aria-label="Legend">
      <li class="used">allocated</li>
      <li class="borrowed">borrowed</li>
      <li class="requested">requested by waiting jobs</li>
      <li class="guarantee">guarantee</li>
      <li class="deserved">deserved</li>
      <li class="capability">capability</li>
    </ul>
  );
}

export function ShareMeter({ share, label }: { share: number; label: string }) {
  return (
    <span class="meter">
      <svg class="bar" role="img" aria-label={`${label}: ${percent(share)}`} height="8">
        <Parts parts={[{ kind: share > 1 ? "borrowed" : "used", size: Math.min(share, 1) }]} whole={1} />
      </svg>
      {percent(share)}
    </span>
  );
}

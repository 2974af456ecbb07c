import { CommandError } from '../command.ts';

/** A rate at a time; between two points it changes evenly, after the last it stays. */
export interface RatePoint {
  atMs: number;
  perSecond: number;
}

/** Bursts: this often, all requests of a period within its first part. Milliseconds. */
export interface Bursts {
  everyMs: number;
  withinMs: number;
}

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
export const DURATION_PATTERN = String.raw`^\d+(\.\d+)?(ms|s|m|h)$`;

/** Milliseconds of a duration such as `30s`. `field` names it in the error. */
export function durationMs(text: string, field: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text.trim()) ?? [];
  if (number === undefined)
    throw new CommandError(`${field} must be a duration like 500ms, 30s, 5m or 1h; it is "${text}".`);
  return Number(number) * UNITS_MS[unit!]!;
}

/** `200`, or a curve of times and rates: `0s:50,30s:500,90s:500`. `field` names it in the error. */
export function rateCurve(rate: number | string, field: string): RatePoint[] {
  const refuse = (): never => {
    throw new CommandError(
      `${field} must be requests per second (200), or times with rates (0s:50,30s:500); it is "${rate}".`,
    );
  };
  const text = String(rate).trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) > 0 ? [{ atMs: 0, perSecond: Number(text) }] : refuse();
  const points = text.split(',').map((part): RatePoint => {
    const [at, perSecond] = part.split(':') as [string, string?];
    if (perSecond === undefined || !/^\d+(\.\d+)?$/.test(perSecond.trim())) return refuse();
    return { atMs: durationMs(at, `${field}: the time of "${part.trim()}"`), perSecond: Number(perSecond) };
  });
  if (points.some(({ atMs }, no) => no > 0 && atMs <= points[no - 1]!.atMs))
    throw new CommandError(`${field}: the times of "${rate}" must ascend.`);
  if (points.every(({ perSecond }) => perSecond === 0)) refuse();
  return points;
}

/** Requests per second at a time. */
export function rateAt(curve: readonly RatePoint[], atMs: number): number {
  const after = curve.findIndex((point) => point.atMs > atMs);
  if (after === -1) return curve.at(-1)!.perSecond;
  const to = curve[after]!;
  const from = curve[after - 1];
  if (from === undefined) return to.perSecond;
  return from.perSecond + ((to.perSecond - from.perSecond) * (atMs - from.atMs)) / (to.atMs - from.atMs);
}

/**
 * When requests are due, ms from the start, ascending: Poisson arrivals at the rates of a curve, all of them multiplied by
 * `share`. Ends by itself only if the rate ends at 0.
 */
export function* arrivals(options: {
  curve: readonly RatePoint[];
  share: number;
  bursts: Bursts | null;
  random: () => number;
}): Generator<number> {
  const { curve, share, bursts, random } = options;
  const fastest = Math.max(...curve.map(({ perSecond }) => perSecond)) * share;
  const end = curve.at(-1)!;
  // Thinning: candidates at the highest rate, each kept with the probability of the present one.
  for (let atMs = 0; ;) {
    atMs -= (Math.log(1 - random()) / fastest) * 1000;
    if (end.perSecond === 0 && atMs > end.atMs) return;
    if (random() * fastest >= rateAt(curve, atMs) * share) continue;
    yield bursts === null ? atMs : inBurst(atMs, bursts);
  }
}

const inBurst = (atMs: number, { everyMs, withinMs }: Bursts): number =>
  Math.floor(atMs / everyMs) * everyMs + (atMs % everyMs) * (withinMs / everyMs);

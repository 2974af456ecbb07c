import type { Happening } from './happening.ts';
import { addTo } from '../../grouped.ts';

/** A change of a total: of a metric by an event, or of a points system by awards. */
interface Step {
  position: string;
  before: number;
  after: number;
}

/** Digits that identify a total: sums of decimals are not exact. */
const DIGITS = 12;
const keyOf = (total: number): string => (Math.abs(total) < 10 ** -DIGITS ? '0' : total.toPrecision(DIGITS));

/**
 * The positions of happenings of one millisecond, in the order in which Redis applied them. IDs do not show that order,
 * because those of events with an idempotency key are derived from the key. Totals do: each begins where the one before
 * ended. What no total connects stays in the order of positions.
 */
export function inSequence(happenings: readonly Happening[]): string[] {
  const after = new Map<string, Set<string>>();
  const waiting = new Map(happenings.map(({ position }) => [position, 0]));
  for (const chain of stepsOf(happenings).map(chained)) {
    for (const [at, position] of chain.entries()) {
      const next = chain[at + 1];
      if (next === undefined || after.get(position)?.has(next) === true) continue;
      after.set(position, (after.get(position) ?? new Set()).add(next));
      waiting.set(next, waiting.get(next)! + 1);
    }
  }
  const unplaced = [...waiting.keys()].toSorted();
  const ordered: string[] = [];
  while (unplaced.length > 0) {
    // Ambiguous totals may contradict one another. Then the first position goes on.
    const at = Math.max(
      0,
      unplaced.findIndex((position) => waiting.get(position) === 0),
    );
    const [position] = unplaced.splice(at, 1) as [string];
    ordered.push(position);
    for (const next of after.get(position) ?? []) waiting.set(next, waiting.get(next)! - 1);
  }
  return ordered;
}

/** The steps of each metric and points system. */
function stepsOf(happenings: readonly Happening[]): Step[][] {
  const steps = new Map<string, Step[]>();
  const add = (of: string, step: Step): void => addTo(steps, of, step);
  for (const { position, event, awards } of happenings) {
    if (event !== null)
      add(`metric ${event.metricNo}`, { position, before: event.total - event.value, after: event.total });
    for (const systemNo of new Set(awards.map((award) => award.systemNo))) {
      const own = awards.filter((award) => award.systemNo === systemNo);
      const [first, last] = [own[0]!, own.at(-1)!];
      add(`system ${systemNo}`, { position, before: first.total - first.awarded, after: last.total });
    }
  }
  return [...steps.values()];
}

/** Positions in an order in which each step begins where the one before ended (Hierholzer's trail through the totals). */
function chained(steps: readonly Step[]): string[] {
  const starting = new Map<string, Step[]>();
  const ends = new Map<string, number>();
  for (const step of steps.toSorted((a, b) => (a.position < b.position ? 1 : -1))) {
    const key = keyOf(step.before);
    addTo(starting, key, step);
    ends.set(keyOf(step.after), (ends.get(keyOf(step.after)) ?? 0) + 1);
  }
  // First where more steps begin than end. Several such totals mean that other steps lie between: the lowest first.
  const isStart = ({ before }: Step): boolean =>
    (starting.get(keyOf(before))?.length ?? 0) > (ends.get(keyOf(before)) ?? 0);
  const starts = steps.filter(isStart).toSorted((a, b) => a.before - b.before);
  // If the last total is the first again, the start is unknown: the total next to 0 is that of a new user.
  const others = steps.toSorted((a, b) => Math.abs(a.before) - Math.abs(b.before));
  return [...starts, ...others].flatMap(({ before }) => trailFrom(keyOf(before), starting));
}

/** Takes a trail of steps from `starting`. Empty if none begins there. */
function trailFrom(key: string, starting: Map<string, Step[]>): string[] {
  const open: { key: string; step: Step | null }[] = [{ key, step: null }];
  const trail: string[] = [];
  while (open.length > 0) {
    const { key: at, step } = open.at(-1)!;
    const next = starting.get(at)?.pop();
    if (next !== undefined) open.push({ key: keyOf(next.after), step: next });
    else {
      open.pop();
      if (step !== null) trail.push(step.position);
    }
  }
  return trail.reverse();
}

/** One rate that a ramp tried. */
export interface RampStep {
  rate: number;
  perSecond: number;
  p50: number;
  p99: number;
  /** Share of the requests that failed. */
  errors: number;
  /** Why Laurel did not sustain the rate; `null` if it did. */
  exceeded: string | null;
  /** Whether the generator could not keep up, so the step says nothing about Laurel. */
  limitedByGenerator: boolean;
}

/** Rates that differ by less are not told apart. */
const PRECISION = 1.1;
const MOST_STEPS = 30;
/** A rate is sustained if at least this share of it is answered. */
const LEAST_ANSWERED = 0.95;

/** The highest rate that was sustained; `null`: none. */
export function sustained(steps: readonly RampStep[]): RampStep | null {
  return steps.filter(isSustained).toSorted((a, b) => b.rate - a.rate)[0] ?? null;
}

const isSustained = ({ exceeded, limitedByGenerator }: RampStep): boolean => exceeded === null && !limitedByGenerator;

/** The rate to try next: higher by a factor until one is not sustained, then between the best and the worst; `null`: done. */
export function nextRate(
  steps: readonly RampStep[],
  { from, factor }: { from: number; factor: number },
): number | null {
  const last = steps.at(-1);
  if (last === undefined) return from;
  if (last.limitedByGenerator || steps.length >= MOST_STEPS) return null;
  const best = sustained(steps)?.rate ?? null;
  const worst = Math.min(...steps.filter((step) => !isSustained(step)).map(({ rate }) => rate));
  if (worst === Infinity) return best! * factor;
  if (best === null) return worst < 1 ? null : worst / factor;
  return worst / best <= PRECISION ? null : Math.sqrt(worst * best);
}

/** What a step exceeded; `null`: nothing. */
export function exceededBy(
  step: Pick<RampStep, 'rate' | 'perSecond' | 'p99' | 'errors'>,
  limits: { p99Ms?: number; errors?: number },
): string | null {
  const { rate, perSecond, p99, errors } = step;
  if (limits.errors !== undefined && errors > limits.errors)
    return `${(errors * 100).toFixed(2)} % of the requests failed (limit ${limits.errors * 100} %)`;
  if (limits.p99Ms !== undefined && p99 > limits.p99Ms) return `p99 is ${p99.toFixed(0)} ms (limit ${limits.p99Ms} ms)`;
  if (perSecond < rate * LEAST_ANSWERED)
    return `only ${perSecond.toFixed(0)} of ${rate.toFixed(0)} requests a second were answered`;
  return null;
}

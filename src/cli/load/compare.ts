import { readFileSync } from 'node:fs';
import { CommandError, tableText } from '../command.ts';
import type { Second } from './generator.ts';
import { upperMs } from './histogram.ts';
import { randomFrom } from './random.ts';
import { FORMAT, type LoadResult, wholeSeconds } from './result.ts';

/** How a figure of the second run differs from the first. */
export interface Comparison {
  figure: string;
  before: number;
  after: number;
  /** `after / before`, and its 95 % interval. */
  ratio: number;
  low: number;
  high: number;
  /** Whether it may end the command with an error: throughput and p99. */
  decides: boolean;
  verdict: 'worse' | 'better' | 'same' | 'unclear';
}

export const RESAMPLES = 1_000;
/** Neighbouring seconds are alike, so they are drawn together. */
const BLOCK = 3;
const LEAST_SECONDS = 6;
const SEED = 45;

const FIGURES = [
  { name: 'answers per second', moreIsBetter: true, decides: true },
  { name: 'p50 ms', moreIsBetter: false, decides: false },
  { name: 'p90 ms', moreIsBetter: false, decides: false },
  { name: 'p99 ms', moreIsBetter: false, decides: true },
] as const satisfies readonly Figure[];
const SHARES = [0.5, 0.9, 0.99];

/**
 * Compares two runs. The interval is that of a bootstrap: whole seconds are drawn again in blocks, so it knows how much a run
 * varies within itself, but not how much the machine differs between the runs. A figure is worse if its ratio is beyond the
 * tolerance and the interval does not contain 1; the same if it is within, and unclear if beyond with 1 in the interval.
 */
export function compare(before: LoadResult, after: LoadResult, tolerance: number): Comparison[] {
  const [one, other] = [wholeSeconds(before).map(countsOf), wholeSeconds(after).map(countsOf)];
  const random = randomFrom(SEED);
  const drawn = Array.from(
    { length: RESAMPLES },
    () => [figuresOf(drawBlocks(one, random)), figuresOf(drawBlocks(other, random))] as const,
  );
  const [first, second] = [figuresOf(one), figuresOf(other)];
  return FIGURES.map((figure, no) => {
    const pairs = drawn.map(([a, b]) => [a[no]!, b[no]!] as const);
    return judged(figure, [first[no]!, second[no]!], pairs, tolerance);
  });
}

/** A figure that is compared. `decides`: whether it may end the command with an error. */
export interface Figure {
  name: string;
  moreIsBetter: boolean;
  decides: boolean;
}

/** The verdict on a figure. `values`: before and after; `drawn`: the same of each resample. */
export function judged(
  { name, moreIsBetter, decides }: Figure,
  [before, after]: readonly [number, number],
  drawn: readonly (readonly [number, number])[],
  tolerance: number,
): Comparison {
  const ratios = drawn.map(([one, other]) => ratioOf(one, other)).toSorted((a, b) => a - b);
  const at = (share: number): number => ratios[Math.min(ratios.length - 1, Math.floor(share * ratios.length))]!;
  const [ratio, low, high] = [ratioOf(before, after), at(0.025), at(0.975)];
  const gain = moreIsBetter ? ratio : ratioOf(after, before);
  const isClear = low > 1 || high < 1;
  const verdict =
    gain >= 1 - tolerance && gain <= 1 + tolerance ? 'same' : !isClear ? 'unclear' : gain < 1 ? 'worse' : 'better';
  return { figure: name, before, after, ratio, low, high, decides, verdict };
}

/** One second, with a place for every bucket: thousands of sums of them are computed. */
interface SecondCounts {
  answered: number;
  buckets: Float64Array;
}

function countsOf({ answered, latency }: Second): SecondCounts {
  const buckets = new Float64Array((latency.at(-2) ?? 0) + 1);
  for (let at = 0; at < latency.length; at += 2) buckets[latency[at]!] = latency[at + 1]!;
  return { answered, buckets };
}

/** The values of `FIGURES`. */
function figuresOf(seconds: readonly SecondCounts[]): number[] {
  const whole = new Float64Array(Math.max(...seconds.map(({ buckets }) => buckets.length)));
  let answered = 0;
  for (const one of seconds) {
    answered += one.answered;
    for (let bucket = 0; bucket < one.buckets.length; bucket += 1) whole[bucket]! += one.buckets[bucket]!;
  }
  const total = whole.reduce((sum, count) => sum + count, 0);
  const percentiles = SHARES.map((share) => {
    const target = Math.max(1, Math.ceil(total * share));
    let seen = 0;
    const index = whole.findIndex((count) => (seen += count) >= target);
    return index === -1 ? 0 : upperMs(index);
  });
  return [answered / seconds.length, ...percentiles];
}

const ratioOf = (before: number, after: number): number =>
  before === 0 ? (after === 0 ? 1 : Infinity) : after / before;

function drawBlocks(seconds: readonly SecondCounts[], random: () => number): SecondCounts[] {
  const drawn: SecondCounts[] = [];
  while (drawn.length < seconds.length) {
    const from = Math.floor(random() * seconds.length);
    for (let no = 0; no < BLOCK && drawn.length < seconds.length; no += 1)
      drawn.push(seconds[(from + no) % seconds.length]!);
  }
  return drawn;
}

/** A result from its file. Ends the command if the file holds none. */
export function readResult(file: string): LoadResult {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new CommandError(`${file} cannot be read as a result: ${(error as Error).message}`);
  }
  const { format } = Object(value) as { format?: unknown };
  if (format !== FORMAT)
    throw new CommandError(`${file} is no result of \`laurel load --json\`: format is not "${FORMAT}".`);
  return value as LoadResult;
}

/** Why two results cannot be compared, naming the field that differs; `null` if they can. */
export function whyNotComparable(before: LoadResult, after: LoadResult): string | null {
  const names = ['requests', 'users', 'keyed', 'retries', 'values', 'bursts', 'streams'] as const;
  for (const name of names) {
    const [one, other] = [JSON.stringify(before.scenario[name]), JSON.stringify(after.scenario[name])];
    if (one !== other) return `scenario.${name} differs: ${one} and ${other}`;
  }
  const isRamp = before.ramp !== null;
  if (isRamp !== (after.ramp !== null)) return 'one of them is a ramp';
  if (before.flatOut !== after.flatOut) return 'only one of them is --flat-out';
  const [rate, otherRate] = [String(before.scenario.rate), String(after.scenario.rate)];
  if (!isRamp && !before.flatOut && rate !== otherRate) return `scenario.rate differs: ${rate} and ${otherRate}`;
  for (const result of [before, after]) {
    const { length } = wholeSeconds(result);
    if (length < LEAST_SECONDS) return `run ${result.run} lasted ${length} s; intervals need at least ${LEAST_SECONDS}`;
  }
  return null;
}

/** A table of ratios with intervals. */
export function comparisonText(comparisons: readonly Comparison[]): string {
  const rows = comparisons.map(({ figure, before, after, ratio, low, high, verdict }) => [
    figure,
    before.toFixed(1),
    after.toFixed(1),
    ratio.toFixed(2),
    `${low.toFixed(2)} to ${high.toFixed(2)}`,
    verdict,
  ]);
  return tableText(['FIGURE', 'BEFORE', 'AFTER', 'RATIO', '95 % INTERVAL', 'VERDICT'], rows);
}

import { readFileSync } from 'node:fs';
import { CommandError, tableText } from '../command.ts';
import type { Second } from './generator.ts';
import { Histogram } from './histogram.ts';
import { randomFrom } from './random.ts';
import { FORMAT, type LoadResult } from './result.ts';

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

const RESAMPLES = 1_000;
/** Neighbouring seconds are alike, so they are drawn together. */
const BLOCK = 3;
const LEAST_SECONDS = 6;
const SEED = 45;

interface Figure {
  name: string;
  of: (seconds: readonly Second[]) => number;
  moreIsBetter: boolean;
  decides: boolean;
}

const latency = (share: number) => (seconds: readonly Second[]) =>
  Histogram.of(...seconds.map((one) => one.latency)).percentile(share);

const FIGURES: readonly Figure[] = [
  {
    name: 'answers per second',
    of: (seconds) => seconds.reduce((sum, { answered }) => sum + answered, 0) / seconds.length,
    moreIsBetter: true,
    decides: true,
  },
  { name: 'p50 ms', of: latency(0.5), moreIsBetter: false, decides: false },
  { name: 'p90 ms', of: latency(0.9), moreIsBetter: false, decides: false },
  { name: 'p99 ms', of: latency(0.99), moreIsBetter: false, decides: true },
];

/**
 * Compares two runs. The interval is that of a bootstrap: whole seconds are drawn again in blocks, so it knows how much a run
 * varies within itself, but not how much the machine differs between the runs. A figure is worse if its ratio is beyond the
 * tolerance and the interval does not contain 1; the same if it is within, and unclear if beyond with 1 in the interval.
 */
export function compare(before: LoadResult, after: LoadResult, tolerance: number): Comparison[] {
  const [one, other] = [wholeSeconds(before), wholeSeconds(after)];
  const random = randomFrom(SEED);
  const drawn = Array.from({ length: RESAMPLES }, () => [drawBlocks(one, random), drawBlocks(other, random)] as const);
  return FIGURES.map(({ name, of, moreIsBetter, decides }) => {
    const [first, second] = [of(one), of(other)];
    const ratios = drawn.map(([a, b]) => ratioOf(of(a), of(b))).toSorted((a, b) => a - b);
    const at = (share: number): number => ratios[Math.min(RESAMPLES - 1, Math.floor(share * RESAMPLES))]!;
    const [ratio, low, high] = [ratioOf(first, second), at(0.025), at(0.975)];
    const gain = moreIsBetter ? ratio : ratioOf(second, first);
    const isClear = low > 1 || high < 1;
    const verdict =
      gain >= 1 - tolerance && gain <= 1 + tolerance ? 'same' : !isClear ? 'unclear' : gain < 1 ? 'worse' : 'better';
    return { figure: name, before: first, after: second, ratio, low, high, decides, verdict };
  });
}

const ratioOf = (before: number, after: number): number =>
  before === 0 ? (after === 0 ? 1 : Infinity) : after / before;

/** Without the last second, which may be incomplete. */
function wholeSeconds({ seconds, summary }: LoadResult): Second[] {
  return seconds.filter(({ second }) => second + 1 <= summary.seconds);
}

function drawBlocks(seconds: readonly Second[], random: () => number): Second[] {
  const drawn: Second[] = [];
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
  const names = ['requests', 'users', 'keyed', 'values', 'bursts', 'streams'] as const;
  for (const name of names) {
    const [one, other] = [JSON.stringify(before.scenario[name]), JSON.stringify(after.scenario[name])];
    if (one !== other) return `scenario.${name} differs: ${one} and ${other}`;
  }
  const isRamp = before.ramp !== null;
  if (isRamp !== (after.ramp !== null)) return 'one of them is a ramp';
  if (before.flatOut !== after.flatOut) return 'only one of them is --flat-out';
  const [rate, otherRate] = [String(before.scenario.rate), String(after.scenario.rate)];
  if (!isRamp && !before.flatOut && rate !== otherRate) return `scenario.rate differs: ${rate} and ${otherRate}`;
  for (const { seconds, run } of [before, after])
    if (seconds.length <= LEAST_SECONDS)
      return `run ${run} lasted ${seconds.length} s; intervals need more than ${LEAST_SECONDS}`;
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

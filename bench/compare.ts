import { readFileSync } from 'node:fs';
import { comparisonText, judged, RESAMPLES, type Comparison, type Figure } from '../src/cli/load/compare.ts';
import { randomFrom } from '../src/cli/load/random.ts';
import type { Measurement } from './measure.ts';
import { kept, median } from './rows.ts';
import type { SuiteResult } from './suite.ts';

/** One case of two runs. */
export interface CaseComparison {
  case: string;
  comparisons: Comparison[];
}

const FIGURES = [
  { name: 'events per second', moreIsBetter: true, decides: true, of: ({ perSecond }) => perSecond },
  { name: 'p99 ms', moreIsBetter: false, decides: true, of: ({ p99 }) => p99 },
  { name: 'node µs', moreIsBetter: false, decides: false, of: ({ nodeMicros }) => nodeMicros },
  { name: 'Redis µs', moreIsBetter: false, decides: false, of: ({ redisMicros }) => redisMicros },
  { name: 'store µs', moreIsBetter: false, decides: false, of: ({ persistMicros }) => persistMicros },
] as const satisfies readonly (Figure & { of: (one: Measurement) => number })[];

const LEAST_ROUNDS = 3;
const SEED = 45;

/**
 * Compares the cases that two runs of the main benchmark share, by the medians of their rounds. The interval is that of a
 * bootstrap over the rounds that count. Throws if the runs differ in their options, or have too few rounds.
 */
export function compareRuns(before: SuiteResult, after: SuiteResult, tolerance: number): CaseComparison[] {
  for (const name of ['seconds', 'connections', 'users'] as const) {
    const [one, other] = [before.options[name], after.options[name]];
    if (one !== other) throw new Error(`options.${name} differs: ${one} and ${other}`);
  }
  const names = before.rows.map((row) => row.case).filter((name) => after.rows.some((row) => row.case === name));
  if (names.length === 0) throw new Error('The two runs share no case.');
  return names.map((name) => {
    const [first, second] = [kept(before.measurements, name), kept(after.measurements, name)];
    const rounds = Math.min(first.length, second.length);
    if (rounds < LEAST_ROUNDS) throw new Error(`${name} has ${rounds} rounds; intervals need at least ${LEAST_ROUNDS}`);
    return { case: name, comparisons: compareCase(first, second, tolerance) };
  });
}

function compareCase(before: Measurement[], after: Measurement[], tolerance: number): Comparison[] {
  const random = randomFrom(SEED);
  const drawn = (rounds: Measurement[]): Measurement[] =>
    rounds.map(() => rounds[Math.floor(random() * rounds.length)]!);
  const samples = Array.from({ length: RESAMPLES }, () => [drawn(before), drawn(after)] as const);
  return FIGURES.map((figure) => {
    const of = (rounds: readonly Measurement[]): number => median(rounds.map(figure.of));
    const pairs = samples.map(([one, other]) => [of(one), of(other)] as const);
    return judged(figure, [of(before), of(after)], pairs, tolerance);
  });
}

/** Compares the files of two runs: a table for each case, and whether throughput or p99 of one is worse. */
export function compareFiles(files: readonly string[], tolerance: number): { text: string; isWorse: boolean } {
  const [before, after, ...more] = files.map((file) => JSON.parse(readFileSync(file, 'utf8')) as SuiteResult);
  if (before === undefined || after === undefined || more.length > 0)
    throw new Error('--compare takes two files of bench/results.');
  const cases = compareRuns(before, after, tolerance);
  return {
    text: cases.map((one) => `${one.case}\n${comparisonText(one.comparisons)}`).join('\n\n'),
    isWorse: cases.some((one) => one.comparisons.some(({ decides, verdict }) => decides && verdict === 'worse')),
  };
}

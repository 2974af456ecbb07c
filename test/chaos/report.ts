import type { GroupChaosResult, GroupRound } from './cluster/suite.ts';
import type { ChaosResult } from './suite.ts';

/** The figures of a run as a Markdown table. */
export function reportOf(result: ChaosResult): string {
  const { rounds, findings } = result;
  const answered = rounds.map(({ answeredMs }) => answeredMs);
  const drained = rounds.map(({ drainedMs }) => drainedMs);
  const rows: [string, string | number][] = [
    ['rounds', rounds.length],
    ['events sent', result.sent],
    ['acknowledged', result.acknowledged],
    ['refused (4xx)', result.refused],
    ['given up by their client', result.abandoned],
    ['requests, retries among them', `${result.requests}, ${result.retries}`],
    ['events in Postgres', findings.stored],
    ['messages to the webhook', findings.messages],
    ['lost', findings.lost],
    ['duplicated', findings.duplicated],
    ['differences', findings.differences.length],
    ['next answer after a fault, p50 / p99', `${quantile(answered, 0.5)} / ${quantile(answered, 0.99)} ms`],
    ['everything in Postgres, p50 / p99', `${quantile(drained, 0.5)} / ${quantile(drained, 0.99)} ms`],
    ['duration', `${result.seconds.toFixed(0)} s`],
  ];
  return tableOf(rows);
}

/** The figures of a run on several Redis. */
export function reportOfGroups(result: GroupChaosResult): string {
  const { rounds, findings } = result;
  const gaps = (share: number, of: (round: GroupRound) => number): number => quantile(rounds.map(of), share);
  const hit = (share: number): number => gaps(share, ({ hitGapMs }) => hitGapMs);
  const answered = (share: number): number => gaps(share, ({ answeredMs }) => answeredMs);
  const others = (share: number): number => gaps(share, ({ othersGapMs }) => othersGapMs);
  return tableOf([
    ['rounds', rounds.length],
    ['events sent', result.sent],
    ['acknowledged', result.acknowledged],
    ['given up by their client', result.abandoned],
    ['requests', result.requests],
    ['events in Postgres', findings.stored],
    ['lost', findings.lost],
    ['duplicated', findings.duplicated],
    ['differences', findings.differences.length],
    ['failed requests of tenants whose Redis was not hit', result.othersFailures],
    [
      'longest time without an answer, tenants that were hit, p50 / p90 / max',
      `${hit(0.5)} / ${hit(0.9)} / ${hit(1)} ms`,
    ],
    [
      'of that after the fault was over (another master was named), p50 / p90 / max',
      `${answered(0.5)} / ${answered(0.9)} / ${answered(1)} ms`,
    ],
    ['longest time without an answer, others', `${others(0.5)} / ${others(0.9)} / ${others(1)} ms`],
    ['duration', `${result.seconds.toFixed(0)} s`],
  ]);
}

function tableOf(rows: readonly [string, string | number][]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `| ${name.padEnd(width)} | ${value} |`).join('\n');
}

/** The smallest value that at least this share of the values does not exceed; 0 without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0);
}

import { createHash } from 'node:crypto';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { replayStreaks, type StreakReplay } from '../../domain/replay-streaks.ts';
import { finalMs, playedRule, runOf } from '../../domain/runs.ts';
import { FREQUENCIES, type Settlement } from '../../domain/settle-streaks.ts';
import type { RunningStreak } from '../../domain/streak-machine.ts';
import { decimalText } from '../../domain/decimal.ts';
import { toMicros, type Micros } from '../../domain/micros.ts';
import { SETTLED } from '../../packed/record-fields.ts';
import { SETTLEMENT_KINDS } from '../../postgres/persist/insert-streak-changes.ts';
import type { ReadyEvent } from '../events/event-call.ts';
import type { UserFacts } from './streak-facts.ts';

/** When an event happened, as the script takes it beside the user fields (`SENT.occurred`). */
export interface Occurred {
  /** Epoch ms. */
  at: number;
  /** Second of the user's local day. */
  second: number;
  /** Of a late one: its local day (epoch day), and what its replay came to. */
  day?: number;
  superseded?: string[];
  repairs?: number[][];
  late?: Late;
}

/** A late event's replay, without its streaks where they stay as they are, see `lua/lib/take_replay.lua`. Settlements are packed as SETTLEMENT, streaks as STREAK. */
interface Late {
  /** SHA-1 of the user's state that it was made of; '' for a user who is new. Left out: whoever the user is by now. */
  digest?: string;
  /** The value that it was made of. */
  whole?: number;
  micros?: number;
  streaks?: (number | Record<number, [number, number]>)[][];
  freezes: number;
  earned?: number;
  settlements: number[][];
  beside: number[][];
  gained: number;
  /** Lengths that the streak that counts was extended to: with the event, and without it. */
  reached: readonly number[];
  before: readonly number[];
  most?: number[];
  /** Whether the streak that counts is longer by the event. */
  extended: boolean;
  /** Board number → first day (epoch day) of the run that the event counts in. */
  runs: Record<number, number>;
}

export interface LateDay {
  /** When it happened, epoch ms, and the second of the local day. */
  atMs: number;
  second: number;
  /** The local day that it belongs to (epoch day). */
  day: number;
  nowMs: number;
}

/** Replays a user's streaks with a late event in its place. */
export function occurredLate(ready: ReadyEvent, { facts, packed }: UserFacts, when: LateDay): Occurred {
  const { atMs, second, day, nowMs } = when;
  const metricNo = ready.plan.plan.metric;
  const { allowed = ready.value } = ready;
  const value = toMicros(decimalText(allowed));
  const replay = replayStreaks(facts, { add: [{ id: ready.id, atMs, day, metricNo, value }] });
  const { unstored, superseded } = replay;
  const { frequency } = facts.rule;
  return {
    at: atMs,
    second,
    day,
    superseded,
    repairs: [...replay.settlements.map(packedSettlement), ...replay.gains.map(packedGain)],
    late: {
      digest: packed === null ? '' : createHash('sha1').update(packed).digest('hex'),
      streaks: FREQUENCIES.map((each) => packedStreak(replay.streaks[each])),
      freezes: replay.freezes,
      ...(replay.earnedDay !== null && { earned: replay.earnedDay }),
      settlements: unstored.settlements.map((one) => packedSettlement({ ...one, atMs: undefined })),
      beside: unstored.gains.map((gain) => packedGain({ ...gain, atMs: undefined })),
      gained: unstored.gains.reduce((sum, { count }) => sum + count, 0),
      reached: replay.reached.is,
      before: replay.reached.was,
      most: FREQUENCIES.map((each) => replay.most[each]),
      extended: replay.streaks[frequency].length > facts.now.streaks[frequency].length,
      ...allowed,
      runs: openRuns(ready.compiled, metricNo, { day, nowMs }),
    },
  };
}

/** A late event whose streaks stay as they are: all else is as for any. */
export function occurredUnrepaired(ready: ReadyEvent, { atMs, second, day, nowMs }: LateDay): Occurred {
  const runs = openRuns(ready.compiled, ready.plan.plan.metric, { day, nowMs });
  const nothing = { freezes: 0, settlements: [], beside: [], gained: 0, reached: [], before: [] };
  return { at: atMs, second, day, late: { ...nothing, extended: false, runs } };
}

/** The runs of a metric's boards that contain a day and are not final. */
function openRuns(
  { catalog, metricsByNo }: CompiledCatalog,
  metricNo: number,
  { day, nowMs }: { day: number; nowMs: number },
): Record<number, number> {
  const metricId = metricsByNo.get(metricNo)?.id;
  const runs: Record<number, number> = {};
  for (const board of catalog.leaderboards) {
    if (board.rankBy !== 'metric' || board.metricId !== metricId) continue;
    const run = runOf(playedRule(board), day);
    if (run !== null && (run.endDay === null || nowMs < finalMs(run.endDay))) runs[board.no] = run.startDay;
  }
  return runs;
}

/** SETTLEMENT. */
function packedSettlement({
  frequency,
  kind,
  from,
  to,
  length,
  atMs,
}: Omit<Settlement, 'atMs'> & { atMs?: number | undefined }): number[] {
  const packed = [FREQUENCIES.indexOf(frequency) + 1, SETTLEMENT_KINDS.indexOf(kind) + 1, from, to];
  if (length !== null) packed.push(length);
  if (length !== null && atMs !== undefined) packed.push(atMs);
  return packed;
}

/** SETTLEMENT of no frequency. */
function packedGain({
  kind,
  day,
  count,
  atMs,
}: Omit<StreakReplay['gains'][number], 'atMs'> & { atMs?: number | undefined }): number[] {
  const packed = [0, SETTLED[kind], day, day, count];
  if (kind === 'given' && atMs !== undefined) packed.push(atMs);
  return packed;
}

/** STREAK. */
const packedStreak = ({ length, startDay, lastPeriod, extendedMs, currentPeriod, sums }: RunningStreak) => [
  length,
  startDay ?? -1,
  lastPeriod ?? -1,
  extendedMs ?? -1,
  currentPeriod ?? -1,
  Object.fromEntries([...sums].map(([no, sum]) => [no, packedMicros(sum)])),
];

/** TOTAL without peak: both of one sign. */
const packedMicros = (micros: Micros): [number, number] => [Number(micros / MILLION), Number(micros % MILLION)];
const MILLION = 1_000_000n;

import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { replayStreaks } from '../../domain/replay-streaks.ts';
import { finalMs, playedRule, runOf } from '../../domain/runs.ts';
import { FREQUENCIES } from '../../domain/settle-streaks.ts';
import { decimalText } from '../../domain/decimal.ts';
import { toMicros } from '../../domain/micros.ts';
import type { ReadyEvent } from '../events/event-call.ts';
import { repairsOf, replayed, type Replayed } from './packed-replay.ts';
import { stateDigest } from './state-digest.ts';
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

/** A late event's replay, without its streaks where they stay as they are, see `lua/lib/replay.lua`. Settlements are packed as SETTLEMENT, streaks as STREAK. */
interface Late extends Omit<Replayed, 'streaks'> {
  streaks?: Replayed['streaks'];
  /** SHA-1 of the user's state that it was made of; '' for a user who is new. Left out: whoever the user is by now. */
  digest?: string;
  /** The value that it was made of. */
  whole?: number;
  micros?: number;
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
  const { frequency } = facts.rule;
  return {
    at: atMs,
    second,
    day,
    ...repairsOf(replay),
    late: {
      digest: packed === null ? '' : stateDigest(packed),
      ...replayed(replay),
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

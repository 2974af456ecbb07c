/** What late events do to a user: the replays of the user's streaks with them in their places. */
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Achievement } from '../../domain/catalog.ts';
import { DAY_MS, localDay } from '../../domain/periods.ts';
import { finalMs, playedRule, runOf } from '../../domain/runs.ts';
import { zoneOffset } from '../../domain/zone.ts';
import { kindField } from '../../packed/record-fields.ts';
import type { ScriptReply } from '../../packed/record.ts';
import { OUTDATED, REFUSAL } from '../../packed/refusal-fields.ts';
import { QUEST_PERIODS } from '../../packed/user-fields.ts';
import type { LateQuestPeriod } from '../../rules/quests.ts';
import { replaysInTurn, replayStreaks, type StreakEvent, type StreakReplay } from '../../rules/streak-replay.ts';
import type { User } from '../../rules/user.ts';
import { Slices } from '../../pacing/slices.ts';
import { periodsOfDay } from '../achievements/quests.ts';
import type { OccurredEvent, ReadyEvent } from '../events/ready-event.ts';
import { stateDigest } from '../scripts.ts';
import { repairsOf, replayedStreaks } from './packed-replay.ts';
import type { UserFacts } from './streak-facts.ts';

const DAY_SECONDS = DAY_MS / 1000;

export const withOccurred = (ready: ReadyEvent, occurred: OccurredEvent): ReadyEvent => ({ ...ready, occurred });

/** The event with the value that the guards allow, if a reply reduces it. */
export function withAllowed(event: ReadyEvent, reply: ScriptReply | null | undefined): ReadyEvent {
  if (reply?.[kindField] !== REFUSAL.outdated) return event;
  const { [OUTDATED.whole]: whole, [OUTDATED.micros]: micros } = reply;
  return whole === undefined || micros === undefined ? event : { ...event, allowed: { whole, micros } };
}

export const sentZone = ({ sent }: ReadyEvent): string | null => sent?.zone ?? null;

interface LateDay {
  /** When it happened (epoch ms), and the second of the local day. */
  atMs: number;
  second: number;
  day: number;
  nowMs: number;
}

/** The local day and second of a time in a zone; `null` is UTC. */
export function localTime(zone: string | null, atMs: number): { day: number; second: number } {
  const { offsetSeconds } = (zone === null ? null : zoneOffset(zone, atMs)) ?? { offsetSeconds: 0 };
  const day = localDay(atMs, offsetSeconds);
  return { day, second: Math.floor(atMs / 1000) + offsetSeconds - day * DAY_SECONDS };
}

/** Whether an event changes the time zone of its user, and so the days of later events. */
export const movesUser = ({ sent }: ReadyEvent, zone: string | null): boolean =>
  sent?.zone !== undefined && sent.zone !== zone;

const lateEvent = (
  { id, plan, value, allowed = value }: ReadyEvent,
  { atMs, day }: Pick<LateDay, 'atMs' | 'day'>,
): StreakEvent => ({ id, atMs, day, metricNo: plan.plan.metric, value: allowed });

/** Replays a user's streaks with a late event in its place. */
export function occurredLate(
  ready: ReadyEvent,
  { facts, packed }: UserFacts,
  when: LateDay & { quests: Record<number, LateQuestPeriod> },
): OccurredEvent {
  const { atMs, second, day, nowMs, quests } = when;
  const metricNo = ready.plan.plan.metric;
  const event = lateEvent(ready, { atMs, day });
  const replay = replayStreaks(facts, { add: [event] });
  const { streaks, reached, most } = replay;
  const { frequency } = facts.rule;
  return {
    atMs,
    second,
    day,
    ...repairsOf(replay),
    digest: packed === null ? '' : stateDigest(packed),
    late: {
      replayed: { ...replayedStreaks(replay), value: event.value },
      reached,
      most,
      extended: streaks[frequency].length > facts.now.streaks[frequency].length,
      runs: openRuns(ready.compiled, metricNo, { day, nowMs }),
      quests,
    },
  };
}

/** The first events of a user in a step. */
export interface PreparedInTurn {
  /** How many can be applied together. */
  count: number;
  /** The first of them, up to `count`. Only the last one of these has the changes to stored records. */
  first: (count: number) => ReadyEvent[];
}

/**
 * Prepares a user's late events that are applied together, in order: as many as the facts suffice for, maybe one or none.
 */
export async function lateInTurn(
  events: readonly (Omit<LateDay, 'nowMs'> & { ready: ReadyEvent })[],
  { facts, user, packed }: UserFacts,
  nowMs: number,
): Promise<PreparedInTurn> {
  const late = events.map(({ ready, atMs, day }) => lateEvent(ready, { atMs, day }));
  const periods = new KeptPeriods(user);
  const replays = replaysInTurn(facts, late);
  const slices = new Slices();
  const results: { replay: StreakReplay; quests: Record<number, LateQuestPeriod> }[] = [];
  for (const { ready, day } of events) {
    const quests = periods.with(periodsOfDay(ready.compiled, ready.plan.plan.metric, day));
    const replay = quests === null ? undefined : replays.next().value;
    if (quests === null || replay === undefined) break;
    results.push({ replay, quests });
    if (slices.over) await slices.turn();
  }
  const { frequency } = facts.rule;
  const prepare = (nth: number, isLast: boolean): ReadyEvent => {
    const { ready, atMs, second, day } = events[nth]!;
    const { replay, quests } = results[nth]!;
    const before = nth === 0 ? facts.now : results[nth - 1]!.replay;
    return withOccurred(ready, {
      atMs,
      second,
      day,
      ...(isLast && repairsOf(replay)),
      ...(nth === 0 ? { digest: packed === null ? '' : stateDigest(packed) } : { after: events[nth - 1]!.ready.id }),
      late: {
        replayed: {
          ...replayedStreaks(replay),
          ...(!isLast && { settlements: NO_SETTLEMENTS }),
          value: late[nth]!.value,
        },
        reached: replay.reached,
        most: replay.most,
        extended: replay.streaks[frequency].length > before.streaks[frequency].length,
        runs: openRuns(ready.compiled, ready.plan.plan.metric, { day, nowMs }),
        quests,
      },
    });
  };
  const first = (count: number): ReadyEvent[] =>
    Array.from({ length: count }, (_, nth) => prepare(nth, nth === count - 1));
  return { count: results.length, first };
}

const NO_SETTLEMENTS = { streaks: [], beside: [] };

/** The periods of repeating achievements that a user's state keeps in the course of some events. */
class KeptPeriods {
  private readonly periods: Map<number, Set<number>>;

  constructor({ quests }: User) {
    this.periods = new Map([...quests].map(([no, { periods }]) => [no, new Set(periods.map(({ period }) => period))]));
  }

  /** The periods of an event; `null` if the state would not keep all, so that Postgres has the sum of one. */
  with(periods: ReadonlyMap<Achievement, number>): Record<number, LateQuestPeriod> | null {
    for (const [{ no }, period] of periods) {
      const ofQuest = this.periods.get(no) ?? new Set();
      this.periods.set(no, ofQuest.add(period));
      if (ofQuest.size > QUEST_PERIODS.most) return null;
    }
    return Object.fromEntries(Array.from(periods, ([{ no }, period]) => [no, { period }]));
  }
}

/** A late event that leaves the streaks unchanged; everything else is applied as usual. */
export function occurredUnrepaired(ready: ReadyEvent, { atMs, second, day, nowMs }: LateDay): OccurredEvent {
  const periods = periodsOfDay(ready.compiled, ready.plan.plan.metric, day);
  return {
    atMs,
    second,
    day,
    late: {
      replayed: null,
      reached: { is: [], was: [] },
      most: null,
      extended: false,
      runs: openRuns(ready.compiled, ready.plan.plan.metric, { day, nowMs }),
      quests: Object.fromEntries(Array.from(periods, ([{ no }, period]) => [no, { period }])),
    },
  };
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

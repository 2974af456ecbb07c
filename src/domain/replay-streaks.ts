import { periodOf, periodStart, type WeekStart } from './periods.ts';
import { changesOf, type StreakReplay } from './replay-repairs.ts';
import { startOf } from './replay-start.ts';
import { FREQUENCIES } from './settle-streaks.ts';
import type { StreakEvent, StreakFacts } from './streak-facts.ts';
import { StreakMachine, type StreakStep } from './streak-machine.ts';

/*
 * What a user's streaks would be if other events had happened: late events in their place, reversed events removed. Pure.
 * Callers need only `replayStreaks`; `src/engine/corrections/streak-facts.ts` reads the facts.
 *
 * The replay starts at the first period that changes, from the streak that the records show. It runs everything since then
 * twice, with the old events and with the new ones: events, midnights and administrators' calls in order of time. Today's
 * rules decide whether a period is met; each midnight uses the settings of its time.
 *
 * If the replay of the old events does not reproduce the records, the rules were different then or the history is
 * incomplete. In that case the records stay unchanged, only the difference in length and freezes is applied, and `exact` is
 * false.
 *
 * The replay knows only the calls that succeeded. It does not retry refused calls, and it skips a successful call that
 * would be refused now: a streak that was never lost is not restored.
 */

/** Events to add, and IDs of events to leave out. */
export interface ChangedEvents {
  add?: readonly StreakEvent[];
  remove?: ReadonlySet<string>;
}

/** The first local day (epoch day) for which facts are needed when the first change is on `day`. */
export const factsFrom = (day: number, weekStart: WeekStart): number =>
  Math.min(...FREQUENCIES.map((frequency) => periodStart(periodOf(day, frequency, weekStart), frequency, weekStart)));

/**
 * Replays the user's streaks with events added and removed.
 * @returns the streaks in all frequencies and the current freezes, and the changes to the records (`SettlementRepair`)
 */
export function replayStreaks(facts: StreakFacts, { add = [], remove = new Set() }: ChangedEvents): StreakReplay {
  const changed = [...add, ...facts.events.filter(({ id }) => remove.has(id))];
  const firstDay = Math.min(facts.now.day, ...changed.map(({ day }) => day));
  const was = run(facts, firstDay, facts.events);
  const is = run(facts, firstDay, [...facts.events.filter(({ id }) => !remove.has(id)), ...add]);
  return changesOf({ facts, firstDay, was, is });
}

function run(facts: StreakFacts, firstDay: number, events: readonly StreakEvent[]): StreakMachine {
  const { now, rule } = facts;
  const starts = FREQUENCIES.map((frequency) => startOf(facts, frequency, firstDay));
  const endedBefore = starts.flatMap(({ before }) => before);
  const begin = [...starts].sort((a, b) => a.day - b.day);
  const resetsMade = new Set(facts.settlements.filter(({ kind }) => kind === 'reset').map(({ atMs }) => atMs));
  const machine = new StreakMachine({ ...facts, endedBefore, resetsMade }, begin[0]!.day);
  const steps = stepsOf(facts, events).filter(({ day }) => day >= begin[0]!.day);
  let next = 0;
  for (const start of begin) {
    for (; next < steps.length && steps[next]!.day < start.day; next++) machine.take(steps[next]!);
    machine.begin(start.frequency, start.day, start.streak);
    if (start.frequency !== rule.frequency) continue;
    machine.freezes = start.freezes;
    machine.earnedDay = start.earnedDay;
    machine.gains = [];
  }
  for (const step of steps.slice(next)) machine.take(step);
  machine.settleTo(now.day);
  return machine;
}

/** All events and calls in order of time. */
const stepsOf = ({ calls }: StreakFacts, events: readonly StreakEvent[]): StreakStep[] =>
  [...calls, ...events.map((event) => ({ do: 'event' as const, ...event }))].sort(
    (a, b) => a.day - b.day || a.atMs - b.atMs,
  );

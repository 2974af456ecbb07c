import { periodOf, periodStart, type WeekStart } from './periods.ts';
import { changesOf, type StreakReplay } from './replay-repairs.ts';
import { startOf } from './replay-start.ts';
import { FREQUENCIES } from './settle-streaks.ts';
import type { StreakEvent, StreakFacts } from './streak-facts.ts';
import { StreakMachine, type StreakStep } from './streak-machine.ts';

/*
 * What a user's streaks would be, had other events happened: with events that came late in their places, without those that
 * are reversed. Pure. `replayStreaks` is all that a caller needs; `src/engine/corrections/streak-facts.ts` reads the facts.
 *
 * What happened since the first period that changes is replayed twice, as it was and as it is to be: the events, the
 * midnights, and what administrators did, each at its time. What a period needs to be met is judged by today's rules; each
 * midnight goes by the settings of its time, as ever. Before that period nothing changes: the replay begins with the streak
 * that the records show.
 *
 * Where replaying what was does not come to what is recorded, the rules were others then, or something is not known that far
 * back. Then what is recorded stays as it is, and only the difference that the change makes to length and freezes is
 * applied; `exact` is false.
 *
 * A call of an administrator that was refused is unknown, and is not tried again; one that was done is left out where it
 * would have been refused: a streak that was never lost is not restored.
 */

/** Events to be replayed in addition, and the IDs of those to be left out. */
export interface ChangedEvents {
  add?: readonly StreakEvent[];
  remove?: ReadonlySet<string>;
}

/** The first local day (epoch day) of which the facts are needed, where the first change is on a day. */
export const factsFrom = (day: number, weekStart: WeekStart): number =>
  Math.min(...FREQUENCIES.map((frequency) => periodStart(periodOf(day, frequency, weekStart), frequency, weekStart)));

/**
 * The user's streaks with some events more, and without some.
 * @returns the streaks in all frequencies and the freezes as of now, and what becomes of the records (`SettlementRepair`)
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

/** Everything that happened, in the order of the times. */
const stepsOf = ({ calls }: StreakFacts, events: readonly StreakEvent[]): StreakStep[] =>
  [...calls, ...events.map((event) => ({ do: 'event' as const, ...event }))].sort(
    (a, b) => a.day - b.day || a.atMs - b.atMs,
  );

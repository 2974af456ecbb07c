import { FREQUENCIES } from '../../src/domain/periods.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDecimal } from '../../src/domain/decimal.ts';
import type { StreakEvent } from '../../src/rules/streak-replay.ts';
import { dayIn } from '../../src/domain/zone.ts';
import { addDays, wall } from './calendar.ts';
import { LaurelModel } from './laurel-model.ts';
import { catalogOf } from './drawn-catalog.ts';
import { METRICS, randomCatalog } from './random-catalog.ts';
import { STARTS, ZONES } from './random-history.ts';
import { ReplayedHistory, type Call } from './replayed-history.ts';
import { historyOf } from './streak-answer.ts';
import { giveFreeze, pause, reset, restore } from './streak-admin.ts';

/** 2 for each of the histories of a run. */
const HISTORIES = 2 * Number(process.env['RUNS'] ?? 20);
const SEED = Number(process.env['SEED']);
const HOUR = 3_600_000;
const DAYS = 45;
const PERIODS = 60;

const atMs = fc.integer({ min: 1, max: DAYS * 24 * HOUR - 1 });
const event = fc.record({
  atMs,
  metric: fc.nat(METRICS.length - 1),
  value: fc.constantFrom('1', '1', '2', '5', '0.5', '0', '-1'),
  /** Its number in the order of late arrivals; 0: arrives when it happens. */
  late: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 1e6 }) }),
});
const call = fc.oneof(
  fc.record({ atMs, do: fc.constantFrom('freeze' as const, 'reset' as const, 'restore' as const) }),
  fc.record({
    atMs,
    do: fc.constant('pause' as const),
    from: fc.nat(4),
    days: fc.oneof(fc.nat(3), fc.integer({ min: 4, max: 35 })),
  }),
);
const history = fc.record({
  start: fc.constantFrom(...STARTS),
  tz: fc.constantFrom(...ZONES).map((tz) => tz || 'UTC'),
  drawn: randomCatalog.map(({ streaks }) => ({ streaks, achievements: [], systems: [], ranks: null, boards: [] })),
  events: fc.array(event, { minLength: 1, maxLength: 60, size: 'max' }),
  calls: fc.array(call, { maxLength: 6 }),
});
type Drawn = typeof history extends fc.Arbitrary<infer T> ? T : never;

/** The events and calls of a history, at distinct times. */
function happeningsOf({ start, tz, drawn, events: sent, calls: made }: Drawn) {
  const createdMs = Date.parse(start);
  const catalog = catalogOf(drawn, 1, createdMs);
  const times = new Set<number>();
  const at = (ms: number): number => {
    let free = createdMs + ms;
    while (times.has(free)) free += 1;
    times.add(free);
    return free;
  };
  const events = sent.map(({ atMs: ms, metric, value, late }, n) => {
    const happenedMs = at(ms);
    const metricNo = catalog.metrics[metric]!.no;
    const each: StreakEvent = {
      id: String(n),
      atMs: happenedMs,
      day: dayIn(tz, happenedMs),
      metricNo,
      value: parseDecimal(value),
    };
    return { ...each, late, metricKey: METRICS[metric]!, amount: Number(value) };
  });
  const calls = made.map((one, n): Call => ({ ...one, atMs: at(one.atMs), n }));
  return { catalog, tz, createdMs, endMs: createdMs + (DAYS + 1) * 24 * HOUR, events, calls };
}

type Happenings = ReturnType<typeof happeningsOf>;

/** The model's result of all of them, in order. */
function inOrder({ catalog, tz, createdMs, endMs, events, calls }: Happenings) {
  const model = new LaurelModel(catalog, createdMs);
  model.upsert({ id: 'u', tz });
  const user = () => model.users.get('u')!;
  const today = () => wall(model.nowMs, tz).date;
  for (const step of [...events, ...calls].sort((a, b) => a.atMs - b.atMs)) {
    model.nowMs = step.atMs;
    if ('metricKey' in step) {
      const { metricKey, amount: value } = step;
      model.event({ metricKey, user: { id: 'u' }, value, attributes: {}, key: null, metadata: null });
      continue;
    }
    const { streaks } = model.settledStreaks('u')!;
    if (step.do === 'freeze') giveFreeze(streaks, catalog);
    else if (step.do === 'reset') reset(user(), { today: today(), atMs: step.atMs }, catalog);
    else if (step.do === 'restore') restore(streaks, today(), catalog);
    else if (step.do === 'pause')
      pause(streaks, { start: addDays(today(), step.from), end: addDays(today(), step.from + step.days) }, today());
  }
  model.nowMs = endMs;
  const { streaks } = model.settledStreaks('u')!;
  return {
    tracks: FREQUENCIES.map((each) => [streaks.tracks[each].length, streaks.tracks[each].started]),
    freezes: streaks.freezes,
    history: historyOf(streaks, today(), catalog, PERIODS),
  };
}

/** A streak was begun, replaced by a restored one, and reset within one week: the week had the length of the first. */
const REPLACED_AND_RESET: Drawn = {
  start: '2027-12-30T12:00:00Z',
  tz: 'UTC',
  drawn: {
    streaks: {
      frequency: 'weekly',
      weekStart: 'sunday',
      evaluationMode: 'OR',
      personalization: false,
      daysOff: null,
      freezes: null,
      thresholds: [null, null],
    },
    achievements: [],
    systems: [],
    ranks: null,
    boards: [],
  },
  events: [
    { atMs: 30.5 * 24 * HOUR, metric: 0, value: '1', late: 1 },
    { atMs: 1, metric: 0, value: '1', late: 0 },
    { atMs: 60 * HOUR, metric: 0, value: '1', late: 1 },
  ],
  calls: [
    { atMs: 30.5 * 24 * HOUR + 2, do: 'reset' },
    { atMs: 30.5 * 24 * HOUR, do: 'restore' },
  ],
};

test(
  'late events, in any order, leave the streaks that they would have made in time',
  { timeout: 120_000 + HISTORIES * 1_000 },
  () => {
    fc.assert(
      fc.property(history, (drawn) => {
        const all = happeningsOf(drawn);
        const inTime = all.events.filter(({ late }) => late === 0);
        const late = all.events.filter(({ late: when }) => when > 0).sort((a, b) => a.late - b.late);
        const replayed = new ReplayedHistory({ ...all, events: inTime });
        const calls = all.calls.filter(({ n }) => !replayed.refused.has(n));
        expect(replayed.seen(PERIODS)).toEqual(inOrder({ ...all, calls, events: inTime }));
        for (const [index, one] of late.entries()) {
          replayed.add(one);
          if (index < late.length - 1 && index % 4 > 0) continue;
          const known = [...inTime, ...late.slice(0, index + 1)];
          expect(replayed.seen(PERIODS)).toEqual(inOrder({ ...all, calls, events: known }));
        }
        expect(replayed.exact).toBe(true);
      }),
      { numRuns: HISTORIES, seed: SEED, examples: [[REPLACED_AND_RESET]] },
    );
  },
);

test(
  'reversed events, in any order, leave the streaks as without them',
  { timeout: 120_000 + HISTORIES * 1_000 },
  () => {
    fc.assert(
      fc.property(history, (drawn) => {
        const all = happeningsOf(drawn);
        const stays = all.events.filter(({ late }) => late === 0);
        const gone = all.events.filter(({ late: when }) => when > 0).sort((a, b) => a.late - b.late);
        const replayed = new ReplayedHistory(all);
        const calls = all.calls.filter(({ n }) => !replayed.refused.has(n));
        for (const { id } of gone) replayed.remove(id);
        expect(replayed.seen(PERIODS)).toEqual(inOrder({ ...all, calls, events: stays }));
        expect(replayed.exact).toBe(true);
      }),
      { numRuns: HISTORIES, seed: SEED, examples: [[REPLACED_AND_RESET]] },
    );
  },
);

import { expect, test } from 'vitest';
import { eventPart } from '../../src/engine/changes/block.ts';
import { GUARD, GUARD_ACTION } from '../../src/packed/guard-fields.ts';
import { EVENT_RECORD, KIND, kindField, RECORD, SETTLED } from '../../src/packed/record-fields.ts';
import { pack, recordOf, unpack } from '../../src/packed/state.ts';
import type { EventOutcome, RuleEvent } from '../../src/rules/event.ts';
import { eventRecord, guardedRecord, type StreakRepairs } from '../../src/rules/event-record.ts';
import {
  DAY,
  dailyStreak,
  decimal,
  EVENT_ID,
  eventOf,
  freshUser,
  METRIC,
  NOON,
  planOf,
  streakOf,
  systemOf,
  totalsOf,
} from './surroundings.ts';

const user = freshUser({
  freezes: 2,
  streaks: { daily: dailyStreak(3, DAY), weekly: streakOf({}), monthly: streakOf({}) },
});
const BOARDS = [[8, DAY, '', -1, 2, 0]];

const outcomeOf = (fields: Partial<EventOutcome> = {}): EventOutcome => ({
  kind: 'applied',
  value: decimal(1.5),
  clampedBy: null,
  day: DAY,
  total: { ...decimal(5.25), peak: 8 },
  extended: false,
  isDueMoved: false,
  isProfileChanged: false,
  settlements: null,
  completed: [],
  quests: [],
  ledgers: [],
  scores: [],
  activeBefore: null,
  ...fields,
});

interface Circumstances {
  event?: Partial<RuleEvent>;
  isNew?: boolean;
  release?: boolean;
  attributes?: string;
  key?: string;
  repairs?: StreakRepairs;
}

/** The record of an event of Ada's, as the commit puts it together. */
function packedEvent(fields: Partial<EventOutcome> = {}, more: Circumstances = {}): Buffer {
  const record = eventRecord(user, eventOf(1.5, more.event), outcomeOf(fields), {
    plan: planOf(more.release === true ? { guards: { asked: [], release: true } } : {}),
    nowMs: NOON,
    isNew: more.isNew === true,
    texts: { userId: 'ada', attributes: more.attributes ?? '', key: more.key ?? '' },
    repairs: more.repairs ?? {},
  });
  const { id, head, tail } = eventPart(record, { moves: [], isNow: true, place: 0 });
  expect(id).toBe(EVENT_ID);
  return Buffer.concat([head, pack(BOARDS), tail]);
}

const PLAIN = {
  [kindField]: KIND.event,
  [RECORD.id]: EVENT_ID,
  [RECORD.userId]: 'ada',
  [RECORD.atMs]: NOON,
  [RECORD.day]: DAY,
  [RECORD.metric]: METRIC,
  [RECORD.value]: [1, 500_000],
  [RECORD.total]: [5, 250_000],
  [RECORD.streak]: [3, DAY - 2, DAY, 0, 2],
  [RECORD.boards]: BOARDS,
};

test('a plain event is a list of 16, and is read by the names of records', () => {
  const packed = packedEvent();
  expect(unpack(packed)).toEqual(PLAIN);
  // A list of 16: without the rare fields.
  expect(packed[0]).toBe(0xdc);
  expect(packed.readUInt16BE(1)).toBe(EVENT_RECORD.more);
});

test('an event with all that it may have is read whole', () => {
  const award = { trigger: 7, points: 5, after: 15, boosts: [2] };
  const ledger = {
    system: systemOf(),
    before: 10,
    total: 15,
    nowMs: NOON,
    left: 10,
    boosts: [],
    awards: [award],
    boosted: null,
  };
  const packed = packedEvent(
    {
      clampedBy: GUARD.maxValue,
      value: decimal(0.25),
      extended: true,
      isDueMoved: true,
      isProfileChanged: true,
      settlements: {
        streaks: [{ frequency: 'daily', kind: 'freeze', from: DAY - 1, to: DAY - 1, length: null }],
        beside: [{ kind: 'earned', day: DAY, count: 1 }],
      },
      completed: [6],
      quests: [{ achievement: 6, period: DAY, times: 1, whole: 12, micros: 500_000, completed: 1 }],
      ledgers: [ledger],
      activeBefore: DAY - 2,
    },
    {
      event: { occurred: { atMs: NOON - 1, second: 43_199, late: null } },
      isNew: true,
      release: true,
      attributes: '{"x":1}',
      key: 'key-1',
      repairs: { day: DAY - 1, superseded: ['a'], repairs: [[1, 1, 2, 2]] },
    },
  );
  expect(packed.readUInt16BE(1)).toBe(EVENT_RECORD.more + 1);
  expect(unpack(packed)).toEqual({
    ...PLAIN,
    [RECORD.value]: [0, 250_000],
    [RECORD.guard]: [GUARD.maxValue, GUARD_ACTION.clamped, 1, 500_000],
    [RECORD.streak]: [3, DAY - 2, DAY, 1, 2],
    [RECORD.points]: [[5, 10, 15, [[7, 5, 15, [2]]]]],
    [RECORD.version]: 4,
    [RECORD.attributes]: '{"x":1}',
    [RECORD.idempotencyKey]: 'key-1',
    [RECORD.isNew]: 1,
    [RECORD.changed]: 1,
    [RECORD.activeBefore]: DAY - 2,
    [RECORD.completed]: [6],
    [RECORD.quests]: [[6, DAY, 1, 12, 500_000, 1]],
    [RECORD.due]: 1,
    [RECORD.released]: 1,
    [RECORD.settlements]: [[1, SETTLED.freeze, DAY - 1, DAY - 1]],
    [RECORD.freezes]: 2,
    [RECORD.freezesEarned]: 1,
    [RECORD.beside]: [[0, SETTLED.earned, DAY, DAY, 1]],
    [RECORD.occurredMs]: NOON - 1,
    [RECORD.occurredDay]: DAY - 1,
    [RECORD.repairs]: [[1, 1, 2, 2]],
    [RECORD.superseded]: ['a'],
  });
});

test('values that are not an event record are returned unchanged', () => {
  for (const other of [[KIND.event, EVENT_ID, 'ada'], ['x', 1], [], null, 7, PLAIN])
    expect(recordOf(other)).toEqual(other);
});

test.each([
  ['quarantined', GUARD_ACTION.quarantined, { [RECORD.attributes]: '{"x":1}', [RECORD.idempotencyKey]: 'key-1' }],
  ['refused', GUARD_ACTION.refused, {}],
])('the record of an event that was %s has the total before it', (_name, action, kept) => {
  const before = freshUser({ totals: totalsOf({ [METRIC]: 5.25 }) });
  const texts = { userId: 'ada', attributes: '{"x":1}', key: 'key-1' };
  const stop = { guard: GUARD.maxValue, action };
  expect(guardedRecord(before, eventOf(1.5), stop, { plan: planOf(), nowMs: NOON, texts })).toEqual({
    [kindField]: KIND.guarded,
    [RECORD.guard]: [GUARD.maxValue, action],
    [RECORD.id]: EVENT_ID,
    [RECORD.userId]: 'ada',
    [RECORD.atMs]: NOON,
    [RECORD.day]: DAY,
    [RECORD.metric]: METRIC,
    [RECORD.value]: [1, 500_000],
    [RECORD.total]: [5, 250_000],
    [RECORD.streak]: [0, -1, -1, 0, 0],
    ...kept,
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decimalNumber, toDecimal } from '../../../src/domain/decimal.ts';
import type { MetricGuards } from '../../../src/domain/administration/guards.ts';
import { unpackAll } from '../../../src/packed/state.ts';
import { outboxKey } from '../../../src/redis/keys.ts';
import { testStack } from '../../stack/stack.ts';
import { withEngineOn, type TestEngine } from './engine.ts';
import { GuardModel } from './guard-model.ts';
import { opened } from '../../stack/opened.ts';

const stack = opened(() => testStack({ database: 'none' }));

const withEngine = withEngineOn(() => stack.redisUrl);
const guarded = (guards: MetricGuards, run: (laurel: TestEngine) => Promise<void>): Promise<void> =>
  withEngine((b) => void b.metric('m', guards), run);

const HOUR_MS = 3_600_000;

describe("a guard's action", () => {
  test("refuse: answers 422 with the guard's name, and applies nothing of the event", () =>
    guarded({ maxValue: { limit: 10, action: 'refuse' } }, async (laurel) => {
      await laurel.event('m', 'u', 10);
      await expect(laurel.event('m', { id: 'u', tz: 'Asia/Tokyo' }, 10.000001)).rejects.toMatchObject({
        status: 422,
        message: "Refused by the guard 'maxValue' of the metric 'm': the value must be at most 10.",
      });
      const state = await laurel.users.state(0, 'u');
      expect(state).toMatchObject({ zone: null, totals: new Map([[1, { whole: 10 }]]) });
      await expect(laurel.event('m', 'never seen', 11)).rejects.toMatchObject({ status: 422 });
      await expect(laurel.users.state(0, 'never seen')).rejects.toMatchObject({ status: 404 });
    }));

  test('clamp: applies and answers the allowed value', () =>
    guarded(
      { minValue: { limit: 1, action: 'clamp' }, maxSumPerDay: { limit: 10, action: 'clamp' } },
      async (laurel) => {
        expect((await laurel.event('m', 'u', 4)).guarded).toBeUndefined();
        expect(await laurel.event('m', 'u', 0.5)).toMatchObject({
          status: 201,
          total: 5,
          guarded: { guard: 'minValue', action: 'clamp', value: 1 },
        });
        expect(await laurel.event('m', 'u', 7.5)).toMatchObject({
          total: 10,
          guarded: { guard: 'maxSumPerDay', action: 'clamp', value: 5 },
        });
        expect(await laurel.event('m', 'u', 1)).toMatchObject({ total: 10, guarded: { value: 0 } });
        laurel.clock.set(laurel.clock.now() + 24 * HOUR_MS);
        expect((await laurel.event('m', 'u', 2)).guarded).toBeUndefined();
      },
    ));

  test('quarantine: answers 202, keeps the event and does not apply it; a retry gets the same answer', () =>
    guarded({ maxValue: { limit: 10, action: 'quarantine' } }, async (laurel) => {
      await laurel.event('m', 'u', 3);
      const kept = await laurel.event('m', { id: 'u', attributes: {} }, 11, { key: 'k' });
      expect(kept).toMatchObject({
        status: 202,
        total: 3,
        points: {},
        guarded: { guard: 'maxValue', action: 'quarantine' },
        idempotentReplayed: false,
      });
      const again = await laurel.event('m', 'u', 5, { key: 'k' });
      expect(again).toEqual({ ...kept, idempotentReplayed: true, idempotencyConflict: true });
      expect(await records(laurel)).toHaveLength(2);
    }));

  test("quarantine of an unknown user's event creates the user, with the fields of the event", () =>
    withEngine(
      (b) => {
        b.metric('m', { maxValue: { limit: 10, action: 'quarantine' } });
        const system = b.system('xp');
        b.trigger(system, 'user_creation', { points: 50 });
      },
      async (laurel) => {
        const kept = await laurel.event('m', { id: 'u', tz: 'Asia/Tokyo' }, 11);
        expect(kept).toMatchObject({ status: 202, total: 0 });
        expect(await laurel.users.state(0, 'u')).toMatchObject({
          zone: 'Asia/Tokyo',
          totals: new Map(),
          points: new Map([[2, 50]]),
        });
        const [user, event] = await records(laurel);
        expect(user!['k']).toBe('u');
        expect(event!['k']).toBe('a');
        expect(user!['i']).not.toBe(event!['i']);
      },
    ));
});

test('the quarantine holds 100 events of a user and refuses more', () =>
  guarded({ maxValue: { limit: 10, action: 'quarantine' } }, async (laurel) => {
    const all = await Promise.allSettled(Array.from({ length: 103 }, () => laurel.event('m', 'u', 11)));
    const refused = all.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
    expect(refused.map(({ reason }) => (reason as Error).message)).toEqual(
      Array(3).fill(expect.stringContaining("by the guard 'maxValue'")),
    );
    expect(refused[0]!.reason.message).toContain('quarantine, which holds as many as it may');
    expect((await laurel.event('m', 'another', 11)).status).toBe(202);
  }));

test('minimum time between events: counts from the event that was applied last', () =>
  guarded({ minSecondsBetween: { limit: 1.5, action: 'refuse' } }, async (laurel) => {
    await laurel.event('m', 'u', 1);
    laurel.clock.set(laurel.clock.now() + 1_499);
    await expect(laurel.event('m', 'u', 1)).rejects.toMatchObject({ status: 422 });
    laurel.clock.set(laurel.clock.now() + 1);
    expect((await laurel.event('m', 'u', 1)).total).toBe(2);
    expect((await laurel.event('m', 'another', 1)).total).toBe(1);
  }));

test('minimum time between events: times in the past do not get around it', () =>
  guarded({ minSecondsBetween: { limit: 60, action: 'refuse' } }, async (laurel) => {
    const at = (ms: number): string => new Date(laurel.clock.now() + ms).toISOString();
    await laurel.event('m', 'u', 1, { occurredAt: at(-600_000) });
    expect((await laurel.event('m', 'u', 1, { occurredAt: at(-500_000) })).total).toBe(2);
    for (const ms of [-500_000, -560_000, -1_800_000])
      await expect(laurel.event('m', 'u', 1, { occurredAt: at(ms) })).rejects.toMatchObject({ status: 422 });
    expect((await laurel.event('m', 'u', 1)).total).toBe(3);
  }));

test('minimum time between events: times in the future do not get around it', () =>
  guarded({ minSecondsBetween: { limit: 60, action: 'refuse' } }, async (laurel) => {
    const ahead = (ms: number) => ({ occurredAt: new Date(laurel.clock.now() + ms).toISOString() });
    await laurel.event('m', 'u', 1, ahead(240_000));
    laurel.clock.set(laurel.clock.now() + 1_000);
    await expect(laurel.event('m', 'u', 1)).rejects.toMatchObject({ status: 422 });
    await expect(laurel.event('m', 'u', 1, ahead(299_000))).rejects.toMatchObject({ status: 422 });
    laurel.clock.set(laurel.clock.now() + 59_000);
    expect((await laurel.event('m', 'u', 1)).total).toBe(2);
  }));

const values = fc.oneof(fc.integer({ min: -5, max: 30 }), fc.double({ min: -3, max: 12, noNaN: true }));
const limit = fc.integer({ min: 0, max: 40 });
const anyAction = fc.constantFrom('refuse' as const, 'clamp' as const, 'quarantine' as const);
const valueGuard = fc.option(fc.record({ limit, action: anyAction }), { nil: undefined });
const anyGuards = fc
  .record({
    minValue: fc.option(fc.record({ limit: fc.integer({ min: -4, max: 3 }), action: anyAction }), { nil: undefined }),
    maxValue: fc.option(fc.record({ limit: fc.integer({ min: 4, max: 20 }), action: anyAction }), { nil: undefined }),
    minSecondsBetween: fc.option(
      fc.record({ limit: fc.integer({ min: 1, max: 900 }), action: fc.constantFrom('refuse' as const, 'quarantine') }),
      { nil: undefined },
    ),
    maxSumPerHour: valueGuard,
    maxSumPerDay: valueGuard,
    maxTotal: valueGuard,
  })
  .map((guards) => Object.fromEntries(Object.entries(guards).filter(([, guard]) => guard !== undefined)));
const anyEvents = fc.array(
  fc.record({
    user: fc.constantFrom('Etc/GMT+5', 'Asia/Tokyo'),
    value: values,
    afterMs: fc.integer({ min: 0, max: 5e6 }),
  }),
  { minLength: 1, maxLength: 30 },
);

test('for any guards and events, applies, refuses and keeps what a simple model says', () =>
  fc.assert(
    fc.asyncProperty(anyGuards, anyEvents, fc.boolean(), async (guards, events, together) => {
      await guarded(guards as MetricGuards, async (laurel) => {
        const model = new GuardModel(guards as MetricGuards);
        const asked: (() => Promise<void>)[] = [];
        for (const { user, value, afterMs } of events) {
          if (!together) laurel.clock.set(laurel.clock.now() + afterMs);
          const expected = model.event(user, decimalNumber(toDecimal(value)), laurel.clock.now());
          const answer = laurel.event('m', { id: user, tz: user }, value).then(
            ({ status, total, guarded: by }) => ({ status, total, ...(by && { guarded: by }) }),
            (error: { status: number; message: string }) => ({
              status: error.status,
              refusedBy: /guard '(\w+)'/.exec(error.message)?.[1],
            }),
          );
          asked.push(async () => expect(await answer).toEqual(expected));
          if (!together) await asked.pop()!();
        }
        for (const check of asked) await check();
      });
    }),
    { numRuns: 60 },
  ));

/** The records of the outbox, by their letters. */
async function records(laurel: TestEngine): Promise<Record<string, unknown>[]> {
  const entries = await laurel.redis.xrangeBuffer(outboxKey(0), '-', '+');
  return entries.flatMap(([, fields]) => unpackAll(fields[3]!) as Record<string, unknown>[]);
}

import { afterAll, beforeAll, expect, test } from 'vitest';
import { testStack } from '../../stack/stack.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { TestEngine } from './engine.ts';
import { opened } from '../../stack/opened.ts';

let laurel: TestEngine;

const stack = opened(() => testStack({ database: 'none' }));
beforeAll(async () => {
  const builder = new CatalogBuilder();
  builder.metric('flips');
  builder.metric('minutes');
  laurel = new TestEngine(stack.redisUrl, builder.catalog);
});
afterAll(async () => {
  await laurel.close();
});

test('processes an unused key; answers a used one with 202, the original event and the current state', async () => {
  const first = await laurel.event('flips', 'ida', 2, { key: 'k' });
  expect(first).toMatchObject({
    status: 201,
    idempotencyKey: 'k',
    idempotentReplayed: false,
    total: 2,
  });
  await laurel.event('flips', 'ida', 5);
  const again = await laurel.event('flips', 'ida', 2, { key: 'k' });
  expect(again).toMatchObject({
    status: 202,
    idempotentReplayed: true,
    eventId: first.eventId,
    total: 7,
  });
  expect(again).toMatchObject({ achievements: [], points: {}, leaderboards: {} });
  expect(again.currentStreak).toMatchObject({ length: 1, extended: false });
});

test('the replay names the original event, even if the call came later than the event', async () => {
  const first = laurel.event('flips', 'later', 1, { key: 'k' });
  // Between the check of the event and the call that applies it.
  laurel.clock.set(laurel.clock.now() + 5);
  const { eventId } = await first;
  expect((await laurel.event('flips', 'later', 1, { key: 'k' })).eventId).toBe(eventId);
});

test('without a key neither field is present', async () => {
  const answer = await laurel.event('flips', 'ivo', 1);
  expect(answer).not.toHaveProperty('idempotencyKey');
  expect(answer).not.toHaveProperty('idempotentReplayed');
});

test('a key is scoped to user and metric', async () => {
  await laurel.event('flips', 'ann', 1, { key: 'same' });
  expect((await laurel.event('minutes', 'ann', 1, { key: 'same' })).status).toBe(201);
  expect((await laurel.event('flips', 'bob', 1, { key: 'same' })).status).toBe(201);
});

test('two tenants may use one key for users with the same ID at the same time: the event IDs differ', async () => {
  const own = await laurel.event('flips', 'same', 1, { key: 'same' });
  const { catalog } = laurel;
  laurel.catalog = { ...catalog, tenantNo: 7 };
  const other = await laurel.event('flips', 'same', 1, { key: 'same' });
  const replay = await laurel.event('flips', 'same', 1, { key: 'same' });
  laurel.catalog = catalog;
  expect(other.status).toBe(201);
  expect(other.eventId).not.toBe(own.eventId);
  expect(replay.eventId).toBe(other.eventId);
});

test('a refused event does not use its key', async () => {
  const refused = laurel.event('flips', { id: 'ref', subscribeToEmails: true }, 1, { key: 'once' });
  await expect(refused).rejects.toMatchObject({ status: 422 });
  expect((await laurel.event('flips', 'ref', 1, { key: 'once' })).status).toBe(201);
});

test('exactly one of a hundred simultaneous requests with one key is processed', async () => {
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => laurel.event('flips', 'rush', 3, { key: 'one' })),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  expect(new Set(answers.map(({ eventId }) => eventId)).size).toBe(1);
  expect(answers.every(({ total }) => total === 3)).toBe(true);
});

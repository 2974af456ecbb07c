import { expect, test } from 'vitest';
import { testStack } from '../../stack/stack.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { TestEngine } from './engine.ts';
import { opened } from '../../stack/opened.ts';

const builder = new CatalogBuilder();
const flips = builder.metric('flips');
const minutes = builder.metric('minutes');
const plan = builder.attribute('plan', 'user');
const deck = builder.attribute('deck', 'event');
const side = builder.attribute('side', 'event');
const named = (name: string): { name: string } => ({ name });

const ten = builder.achievement('metric', { metricId: flips.id, metricValue: 10, ...named('ten') });
const half = builder.achievement('metric', {
  metricId: minutes.id,
  metricValue: 0.5,
  ...named('half'),
});
const both = builder.achievement('achievement', {
  achievementIds: [ten.id, half.id],
  ...named('both'),
});
builder.achievement('achievement', { achievementIds: [both.id], ...named('outer') });
builder.achievement('metric', {
  metricId: flips.id,
  metricValue: 1,
  status: 'locked',
  ...named('locked'),
});
builder.achievement('metric', {
  metricId: flips.id,
  metricValue: 1,
  status: 'inactive',
  ...named('inactive'),
});
builder.achievement('metric', {
  metricId: flips.id,
  metricValue: 5,
  eventAttributes: [
    { attributeId: deck.id, attributeValue: 'verbs' },
    { attributeId: side.id, attributeValue: 'back' },
  ],
  ...named('five verbs'),
});
builder.achievement('metric', {
  metricId: flips.id,
  metricValue: 2,
  userAttributes: [{ attributeId: plan.id, attributeValue: 'pro' }],
  ...named('pro'),
});
builder.achievement('streak', { streakLength: 2, ...named('two days') });

const stack = opened(() => testStack({ database: 'none' }));
const laurel = opened(() => new TestEngine(stack.redisUrl, builder.catalog));

const names = (answer: { achievements: { name: string }[] }): string[] => answer.achievements.map(({ name }) => name);

test('a metric achievement completes once, when the total reaches its value; composites follow to a fixed point', async () => {
  expect(names(await laurel.event('flips', 'a', 9))).toEqual([]);
  expect(names(await laurel.event('flips', 'a', 1))).toEqual(['ten']);
  expect(names(await laurel.event('flips', 'a', 1))).toEqual([]);
  const last = await laurel.event('minutes', 'a', 0.5);
  expect(names(last)).toEqual(['half', 'both', 'outer']);
  expect(last.achievements[0]).toMatchObject({
    metricId: minutes.id,
    metricValue: 0.5,
    achievedAt: '2026-11-18T12:00:00.000Z',
  });
  await laurel.event('flips', 'a', -11);
  expect(names(await laurel.event('flips', 'a', 11))).toEqual([]);
});

test('with event-attribute conditions only matching events count', async () => {
  const match = { attributes: { deck: 'verbs', side: 'back' } };
  expect(names(await laurel.event('flips', 'b', 4, match))).toEqual([]);
  expect(names(await laurel.event('flips', 'b', 3, { attributes: { deck: 'verbs', side: 'front' } }))).toEqual([]);
  expect(names(await laurel.event('flips', 'b', 1, { attributes: { deck: 'verbs' } }))).toEqual([]);
  expect(names(await laurel.event('flips', 'b', 1, match))).toEqual(['five verbs']);
});

test('user-attribute conditions use the attributes after the upsert, with the next event', async () => {
  expect(names(await laurel.event('flips', 'c', 3))).toEqual([]);
  expect(names(await laurel.event('flips', { id: 'c', attributes: { plan: 'free' } }, 1))).toEqual([]);
  expect(names(await laurel.event('minutes', { id: 'c', attributes: { plan: 'pro' } }, 0.1))).toEqual(['pro']);
});

test('a streak achievement completes when the length is reached', async () => {
  expect(names(await laurel.event('flips', 'd', 1))).toEqual([]);
  laurel.clock.set(laurel.clock.now() + 86_400_000);
  expect(names(await laurel.event('flips', 'd', 1))).toEqual(['two days']);
});

test('counts completions', async () => {
  const counters = await laurel.redis.hgetall('{s0}:0:n');
  expect(counters[`a${ten.no}`]).toBe('1');
  expect(counters['users']).toBe('4');
});

test('names every unknown attribute key', async () => {
  const event = laurel.event('flips', 'e', 1, {
    attributes: { deck: 'x', nope: 'x', ['__proto__']: 'x', plan: 'x' },
  });
  await expect(event).rejects.toMatchObject({
    status: 422,
    message: expect.stringContaining('Invalid attribute keys: nope'),
  });
});

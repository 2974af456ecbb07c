import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, expect, test } from 'vitest';
import { EventMaker, shapeOf, type Shape } from '../../../src/cli/load/events.ts';
import { MetricEvent } from '../../../src/domain/event.ts';
import { exportConfiguration } from '../../../src/catalog/configuration/export.ts';
import { CatalogBuilder } from '../../engine/catalog-builder.ts';

let shape: Shape;
beforeAll(async () => {
  const builder = new CatalogBuilder();
  const flips = builder.metric('flips');
  builder.metric('minutes');
  const plan = builder.attribute('plan', 'user');
  const topic = builder.attribute('topic', 'event');
  builder.achievement('metric', {
    metricId: flips.id,
    metricValue: 1,
    userAttributes: [{ attributeId: plan.id, attributeValue: 'pro' }],
    eventAttributes: [{ attributeId: topic.id, attributeValue: 'biology' }],
  });
  shape = shapeOf(await exportConfiguration(builder.catalog));
});

const made = (count: number, seed: number) => {
  const maker = new EventMaker({ shape, crowd: { users: 100_000 }, seed, keyed: 0.3 });
  return Array.from({ length: count }, () => maker.next());
};

test('events use every metric, and attribute values that conditions match and others that they do not', () => {
  const events = made(2000, 1);
  expect(new Set(events.map(({ metricKey }) => metricKey))).toEqual(new Set(['flips', 'minutes']));
  const topics = new Set(events.map(({ event }) => event.attributes?.['topic']));
  expect(topics.has('biology')).toBe(true);
  expect(topics.has(undefined)).toBe(true);
  expect(topics.size).toBeGreaterThan(2);
  expect(new Set(events.map(({ event }) => event.user.id)).size).toBeGreaterThan(1900);
});

test('events fit the schema, and idempotency keys are unique', () => {
  const validate = new Ajv2020({ strict: false }).compile(MetricEvent);
  const events = [...made(1000, 1), ...made(1000, 2)];
  for (const { event } of events) expect(validate(event)).toBe(true);
  const keys = events.flatMap(({ idempotencyKey }) => idempotencyKey ?? []);
  expect(keys.length).toBeGreaterThan(400);
  expect(new Set(keys).size).toBe(keys.length);
});

test('the same seed generates the same events', () => {
  expect(made(50, 7)).toEqual(made(50, 7));
  expect(made(50, 7)).not.toEqual(made(50, 8));
});

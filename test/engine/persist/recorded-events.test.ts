import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { userKey } from '../../../src/redis/keys.ts';
import { decodeUser } from '../../../src/rules/user-codec.ts';
import { testDatabase } from '../../postgres/database.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { TestEngine } from '../events/engine.ts';
import { onlyPart } from '../../stack/only-part.ts';
import { opened } from '../../stack/opened.ts';

let laurel: TestEngine;
let persister: Persister;

const database = opened(() => testDatabase());
beforeAll(async () => {
  const builder = new CatalogBuilder();
  const metric = builder.metric('pages');
  const xp = builder.system('xp');
  builder.attribute('plan', 'user');
  builder.attribute('source', 'event');
  builder.trigger(xp, 'metric', { metricId: metric.id, metricThreshold: 5, points: 3 });
  builder.achievement('metric', { metricId: metric.id, metricValue: 12 });
  laurel = new TestEngine(database.stack.redisUrl, builder.catalog);
  persister = new Persister({ redis: laurel.redis, pool: database.pool });
});

afterAll(async () => {
  await laurel.close();
});

interface StoredUser {
  id: string;
  state: Buffer;
  attributes: unknown;
  points: unknown;
  events: number;
  awarded: number;
  completed: number;
}

const STORED = `
  SELECT id, state, attributes, points,
         (SELECT count(*) FROM events WHERE user_id = users.id) AS events,
         (SELECT coalesce(sum(awarded), 0)::bigint FROM awards WHERE user_id = users.id) AS awarded,
         (SELECT count(*) FROM completions WHERE user_id = users.id) AS completed
    FROM users ORDER BY id`;

const step = fc.record({
  user: fc.integer({ min: 0, max: 4 }),
  value: fc.integer({ min: -2, max: 6 }),
  plan: fc.constantFrom(undefined, undefined, 'free', 'pro', 'nul\0'),
  source: fc.constantFrom(undefined, 'web', '\ud800'),
  drain: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
});

test('after any events, stored at any times, Postgres agrees with Redis about each user', async () => {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
      run += 1;
      const events = new Map<string, number>();
      for (const { user, value, plan, source, drain } of steps) {
        const id = `run-${run}-user-${user}`;
        const attributes = plan === undefined ? {} : { attributes: { plan } };
        await laurel.event(
          'pages',
          { id, ...attributes },
          value,
          source === undefined ? {} : { attributes: { source } },
        );
        events.set(id, (events.get(id) ?? 0) + 1);
        if (drain) await persister.drain(0, AbortSignal.abort());
      }
      await persister.drain(0, AbortSignal.abort());

      const { rows } = await database.pool.query<StoredUser>(STORED);
      const stored = rows.filter(({ id }) => id.startsWith(`run-${run}-`));
      expect(stored.map(({ id }) => id)).toEqual([...events.keys()].toSorted());
      for (const row of stored) {
        const packed = await laurel.redis.getBuffer(userKey(onlyPart(0), row.id));
        expect(row.state).toEqual(packed);
        const state = decodeUser(packed!);
        const storable = [...state.attributes].map(([no, value]) => [no, value.replace('\0', '\uFFFD')]);
        expect(row.attributes).toEqual(Object.fromEntries(storable));
        expect(row.points).toEqual(Object.fromEntries(state.points));
        expect(row.events).toBe(events.get(row.id));
        expect(row.awarded).toBe([...state.points.values()][0] ?? 0);
        expect(row.completed).toBe(state.completions.size);
      }
    }),
    { numRuns: 25 },
  );
});

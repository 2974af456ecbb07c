import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Catalogs } from '../../../src/catalog/catalogs.ts';
import { createBoardRankings } from '../../../src/engine/notifications/due/board-rankings.ts';
import { Publisher } from '../../../src/engine/notifications/due/publisher.ts';
import { createWindows, type Windows } from '../../../src/engine/notifications/due/windows.ts';
import { throttle } from '../../../src/engine/notifications/throttles.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { createRedis } from '../../../src/redis/client.ts';
import { testDatabase } from '../../postgres/database.ts';
import { opened } from '../../stack/opened.ts';

const START = Date.UTC(2030, 2, 1, 10);
const MINUTE = 60_000;
const SYSTEM = randomUUID();
const NEVER = new AbortController().signal;

interface Sent {
  atMs: number;
  total: number;
  added: number;
}

let windows: Windows;
let redis: ReturnType<typeof createRedis>;
let sent: Sent[] = [];
const note = (atMs: number, { payload }: { payload: string }): void => {
  const { total, added } = JSON.parse(payload).points;
  sent.push({ atMs, total, added });
};

let nowMs = START;
const database = opened(() => testDatabase());
beforeAll(async () => {
  const { pool, stack } = database;
  redis = createRedis(stack.redisUrl);
  const doc = { name: 'Test', url: 'https://example.com/', events: ['points.changed'], enabled: true, secretNo: 1 };
  await pool.query(
    `INSERT INTO catalog_resources (id, tenant_no, no, kind, doc, created, updated) VALUES ($1, 0, 1, 'webhook', $2, now(), now())`,
    [randomUUID(), doc],
  );
  const onMade = (made: readonly { payload: string }[]): void => made.forEach((each) => note(nowMs, each));
  const publisher = new Publisher({ redis, pool, catalogs: new Catalogs(pool), onMade });
  windows = createWindows(publisher, createBoardRankings(redis));
});
afterAll(async () => {
  redis.disconnect();
});

/** Ends the windows that are over by a time, each at its own time, like the schedule. */
async function until(endMs: number): Promise<void> {
  for (;;) {
    const dueMs = await windows.due(endMs);
    if (dueMs === null) break;
    nowMs = dueMs;
    await windows.perform(dueMs, NEVER, dueMs + 1, dueMs);
  }
  nowMs = endMs;
}

test('the first change at once, then at most one message in 15 minutes, and always the last state', async () => {
  let run = 0;
  const changes = fc.array(fc.tuple(fc.integer({ min: 0, max: 20 * 60 }), fc.integer({ min: -5, max: 9 })), {
    minLength: 1,
    maxLength: 12,
  });
  await fc.assert(
    fc.asyncProperty(changes, async (steps) => {
      sent = [];
      const userId = `user ${++run}`;
      let total = 0;
      const times: number[] = [];
      for (const [index, [seconds, added]] of steps.entries()) {
        await until(nowMs + seconds * 1_000);
        total += added;
        times.push(nowMs);
        const notification = {
          type: 'points.changed' as const,
          tenantNo: 0,
          userId,
          atMs: nowMs,
          source: `${userId}:${index}`,
          about: { pointsSystemId: SYSTEM },
          payload: JSON.stringify({ type: 'points.changed', points: { total, added, awards: [{ awarded: added }] } }),
        };
        const out = await transaction(database.pool, (client) => throttle(client, [notification], nowMs));
        for (const each of out) note(nowMs, each);
      }
      await until(nowMs + 60 * MINUTE);
      expect(sent[0]!.atMs).toBe(times[0]);
      for (const [index, { atMs }] of sent.slice(1).entries())
        expect(atMs - sent[index]!.atMs).toBeGreaterThanOrEqual(15 * MINUTE);
      expect(sent.at(-1)!.total).toBe(total);
      expect(sent.at(-1)!.atMs - times.at(-1)!).toBeLessThanOrEqual(15 * MINUTE + 5_000);
      expect(sent.reduce((sum, { added }) => sum + added, 0)).toBe(total);
    }),
    { numRuns: 25, seed: Number(process.env['SEED']) },
  );
});

import { afterEach, beforeEach, expect, test } from 'vitest';
import { Catalogs } from '../../../src/catalog/catalogs.ts';
import { FixedClock } from '../../../src/clock.ts';
import { createBoardRankings } from '../../../src/engine/notifications/due/board-rankings.ts';
import { createPlaces, type Places } from '../../../src/engine/notifications/due/places.ts';
import { Publisher } from '../../../src/engine/notifications/due/publisher.ts';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { RedisNotReady } from '../../../src/redis/gate.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { rebuildThatStands } from '../rebuild/by-hand.ts';

const NOW = Date.parse('2030-03-01T12:00:00Z');

let laurel: TestLaurel;
let places: Places;
let publisher: Publisher;
let goOn: () => Promise<void>;

beforeEach(async () => {
  goOn = () => Promise.resolve();
  const board = { key: 'top', name: 'Top', rankBy: 'metric', metricKey: 'flips', start: '2030-03-01' } as const;
  laurel = await startLaurel({
    clock: new FixedClock(NOW),
    configuration: {
      metrics: [{ key: 'flips', name: 'Flips' }],
      leaderboards: [{ ...board, status: 'active' }],
    },
  });
  const { pool, redis, admin } = laurel;
  publisher = new Publisher({ redis, pool, catalogs: new Catalogs(pool) });
  places = createPlaces(publisher, redis);
  const hook = { name: 'Test', url: 'https://hook.example', events: ['leaderboard.rank_changed'] };
  await admin.post('/v1/webhooks', [hook]);
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 30 });
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'bob' }, value: 20 });
  await new Persister({ redis, pool }).drain(0, AbortSignal.abort());
  await pool.query("UPDATE jobs SET status = 'done'");
});
afterEach(async () => {
  await goOn();
  await laurel.close();
});

const compare = (): Promise<void> => places.perform(NOW, new AbortController().signal, NOW + 1, NOW);

/** Has the leaderboard compared again, like a change on it. */
const moved = async (): Promise<void> =>
  void (await laurel.pool.query('UPDATE notification_boards SET compare_ms = $1', [NOW]));

const count = async (table: string): Promise<number> =>
  (await laurel.pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`)).rows[0]!.n;

test('reports nobody as fallen off a leaderboard that is being rebuilt', async () => {
  await compare();
  expect(await count('notification_places')).toBe(2);
  await moved();
  goOn = await rebuildThatStands(laurel);
  await expect(compare()).rejects.toThrow(RedisNotReady);
  await goOn();
  await compare();
  expect(await count('notification_places')).toBe(2);
  expect(await count('webhook_messages')).toBe(0);
});

test('does not report the rankings of an empty leaderboard either', async () => {
  const rankings = createBoardRankings(laurel.redis);
  await compare();
  const { rows } = await laurel.pool.query(
    'SELECT board_no AS "boardNo", run_day AS "runDay" FROM notification_boards',
  );
  const compiled = await publisher.catalog(0, 0);
  const place = { ...rows[0], group: '' };
  const reported = async (): Promise<unknown> =>
    JSON.parse((await rankings.changed(laurel.pool, compiled, place, NOW))!).leaderboard.rankings;
  const before = await reported();
  expect(before).toHaveLength(2);
  goOn = await rebuildThatStands(laurel);
  await expect(reported()).rejects.toThrow(RedisNotReady);
  await goOn();
  expect(await reported()).toEqual(before);
});

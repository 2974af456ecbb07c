import { afterEach, expect, test } from 'vitest';
import { connectionOf } from '../../../src/redis/endpoints.ts';
import { BoardsByTheClock } from './boards-by-the-clock.ts';

let boards: BoardsByTheClock;
afterEach(() => boards.laurel.close());

const board = { key: 'board', name: 'Board', status: 'active', rankBy: 'metric', metricKey: 'm' } as const;
const daily = { ...board, start: '2026-11-01', runUnit: 'day', runInterval: 1 } as const;

test('a run is final at 12:00 UTC on the day after its last, in all zones, and reads the same as before', async () => {
  boards = await BoardsByTheClock.start('2026-11-18T10:30:00Z', [{ ...daily, maxParticipants: 2 }]);
  await boards.event({ id: 'west', tz: 'Etc/GMT+12' }, 1);
  await boards.event({ id: 'east', tz: 'Pacific/Kiritimati' }, 2);
  await boards.event('a', 3);
  await boards.event('b', 3);
  await boards.event('c', 1);
  const pages = ['', '&offset=1&limit=1', '&userId=b', '&userId=b&offset=-1', '&userId=c', '&userId=west', '&limit=0'];
  const read = () => Promise.all(pages.map((page) => boards.places(`run=2026-11-18${page}`)));
  await boards.at('2026-11-19T11:59:00Z');
  // It is still the 18th there.
  await boards.event('west', 4);
  expect(await boards.due()).toEqual([
    'final 2026-11-18T12:00:10',
    'final 2026-11-18T12:01:10',
    'daily 2026-11-19T00:00:00',
  ]);
  const live = await read();
  expect(live[0]).toEqual([
    [1, 'west', 4],
    [2, 'b', 3],
    [2, 'a', 3],
  ]);
  expect(live[2]).toEqual([
    [2, 'b', 3],
    [2, 'a', 3],
  ]);
  expect(live[4]).toEqual([]);
  await boards.at('2026-11-19T12:00:10Z');
  await boards.event('west', 8);
  expect(await boards.due()).toEqual(['final 2026-11-19T12:00:10']);
  expect(await read()).toEqual(live);
  await boards.at('2026-11-19T12:01:10Z');
  await boards.due();
  expect((await boards.setNames()).map((name) => name.replace(/^.*:b:\d+:/, ''))).toEqual(['20776:']);
  expect(await read()).toEqual(live);
  expect(await boards.places('run=2026-11-17')).toEqual([[1, 'west', 1]]);
});

test('copying can stop after any step, and everybody is final once', async () => {
  boards = await BoardsByTheClock.start('2026-11-18T12:00:00Z', [{ ...daily, breakdownAttributes: ['land'] }]);
  const pipeline = connectionOf(boards.laurel.redis, 0).pipeline();
  await boards.event({ id: 'u', attributes: { land: 'de' } }, 1_000_000);
  await boards.event({ id: 'v', attributes: { land: 'fr' } }, 7);
  const [set] = (await boards.sets()).filter((key) => key.endsWith('2:de'));
  for (let n = 0; n < 11_000; n += 1) pipeline.zadd(set!, 1 + (n % 600), `user ${n}`);
  await pipeline.exec();
  const query = 'run=2026-11-18&userAttributes=land:de';
  const far = `${query}&offset=10990&limit=20`;
  const before = [await boards.places(query), await boards.places(`${query}&userId=user 700`)];
  await boards.at('2026-11-19T12:02:00Z');
  const killed: string[] = [];
  boards.onStep = (step) => {
    if (killed.filter((name) => name === step).length === 2) return;
    killed.push(step);
    throw new Error('killed');
  };
  const perform = (): Promise<boolean> =>
    boards.due().then(
      () => true,
      (error: Error) => {
        if (error.message !== 'killed') throw error;
        return false;
      },
    );
  while (!(await perform())) expect(await boards.places(query)).toEqual(before[0]);
  expect(killed.toSorted()).toEqual(
    ['begun', 'begun', 'cleared', 'copied', 'copied', 'finished', 'written', 'written'].toSorted(),
  );
  expect([await boards.places(query), await boards.places(`${query}&userId=user 700`)]).toEqual(before);
  // The leaderboard has 1,000 ranks, and those who share the last one.
  expect(await boards.places(far)).toEqual([]);
  expect(await boards.places(`${query}&offset=990&limit=1000`)).toHaveLength(19);
  const { rows } = await boards.laurel.pool.query(
    'SELECT name, members, participants, (SELECT count(*)::int FROM board_finals WHERE group_id = id) AS n FROM board_run_groups ORDER BY name',
  );
  expect(rows).toEqual([
    { name: '2:de', members: 11_001, participants: 1009, n: 11_001 },
    { name: '2:fr', members: 1, participants: 1, n: 1 },
  ]);
  expect(await boards.sets()).toEqual([]);
  expect(await boards.places('run=2026-11-18&userAttributes=land:fr')).toEqual([[1, 'v', 7]]);
});

test('two concurrent copies copy everybody once', async () => {
  boards = await BoardsByTheClock.start('2026-11-18T12:00:00Z', [{ ...daily, maxParticipants: null }]);
  await boards.event('u', 1_000_000);
  const [set] = await boards.sets();
  const pipeline = connectionOf(boards.laurel.redis, 0).pipeline();
  for (let n = 0; n < 12_000; n += 1) pipeline.zadd(set!, 1 + n, `user ${n}`);
  await pipeline.exec();
  await boards.at('2026-11-19T12:02:00Z');
  const expected = await boards.places('run=2026-11-18&offset=4990&limit=5020');
  await Promise.all([boards.due(), boards.due(), boards.due()]);
  expect(await boards.places('run=2026-11-18&offset=4990&limit=5020')).toEqual(expected);
  const { rows } = await boards.laurel.pool.query('SELECT count(*)::int AS n FROM board_finals');
  expect(rows).toEqual([{ n: 12_001 }]);
});

test("history: a snapshot each day, the last day's as the run ended, and the current day live", async () => {
  boards = await BoardsByTheClock.start('2026-11-01T09:00:00Z', [
    { ...board, start: '2026-11-01', end: '2026-11-03', maxParticipants: 2 },
  ]);
  await boards.event('a', 5);
  await boards.event('b', 3);
  await boards.at('2026-11-02T09:00:00Z');
  await boards.due();
  await boards.event('c', 4);
  expect(await boards.history('b')).toEqual([
    ['2026-11-01', null, 2, null, 3],
    ['2026-11-02', 2, null, 3, null],
  ]);
  await boards.at('2026-11-03T09:00:00Z');
  await boards.due();
  await boards.event('b', 7);
  await boards.at('2026-11-04T11:59:59Z');
  expect(await boards.due()).toEqual(['daily 2026-11-04T00:00:00']);
  await boards.event({ id: 'a', tz: 'Etc/GMT+12' }, 1);
  const { body } = await boards.laurel.app.get('/v1/leaderboards/board');
  expect(body.status).toBe('finished');
  await boards.at('2026-11-06T00:00:00Z');
  await boards.due();
  expect(await boards.sets()).toEqual([]);
  expect(await boards.places()).toEqual([
    [1, 'b', 10],
    [2, 'a', 6],
  ]);
  expect(await boards.history('b')).toEqual([
    ['2026-11-01', null, 2, null, 3],
    ['2026-11-02', 2, null, 3, null],
    ['2026-11-03', null, 1, null, 10],
  ]);
  expect(await boards.history('a')).toEqual([
    ['2026-11-01', null, 1, null, 5],
    ['2026-11-02', 1, 1, 5, 5],
    ['2026-11-03', 1, 2, 5, 6],
  ]);
  expect(await boards.history('c', 'numEvents=2')).toEqual([
    ['2026-11-02', null, 2, null, 4],
    ['2026-11-03', 2, null, 4, null],
  ]);
  const { body: shown } = await boards.laurel.app.get('/v1/users/a/leaderboards/board');
  expect(shown.history.at(-1).timestamp).toBe('2026-11-04T12:00:00.000Z');
  expect(shown).toMatchObject({ rank: 2, value: 6, status: 'finished' });
});

test('a perpetual leaderboard has exactly one snapshot each day, however long no process took any', async () => {
  boards = await BoardsByTheClock.start('2026-11-01T09:00:00Z', [{ ...board, start: '2026-11-01' }]);
  await boards.event('a', 5);
  await boards.at('2026-11-05T01:00:00Z');
  await Promise.all([boards.due(), boards.due()]);
  expect((await boards.history('a')).map(([date, , rank]: unknown[]) => [date, rank])).toEqual([
    ['2026-11-01', 1],
    ['2026-11-02', 1],
    ['2026-11-03', 1],
    ['2026-11-04', 1],
    ['2026-11-05', 1],
  ]);
  const { rows } = await boards.laurel.pool.query('SELECT count(*)::int AS n FROM board_snapshot_parts');
  expect(rows).toEqual([{ n: 1 }]);
});

test('a leaderboard that an admin finishes is final at 12:00 UTC after the last local date at that time', async () => {
  boards = await BoardsByTheClock.start('2026-11-10T09:00:00Z', [{ ...board, start: '2026-11-01' }]);
  await boards.event('a', 5);
  const { body } = await boards.laurel.admin.get('/v1/leaderboards');
  const { status } = await boards.laurel.admin.patch('/v1/leaderboards', [{ id: body[0].id, status: 'finished' }]);
  expect(status).toBe(200);
  await boards.event('a', 1);
  await boards.at('2026-11-12T13:00:00Z');
  await boards.due();
  expect(await boards.sets()).toEqual([]);
  expect(await boards.places()).toEqual([[1, 'a', 5]]);
  expect(await boards.places('run=2026-11-01&userId=a')).toEqual([[1, 'a', 5]]);
});

test('a wrapped year knows the best place of runs that left Redis', async () => {
  boards = await BoardsByTheClock.start('2026-11-10T09:00:00Z', [daily]);
  await boards.event('a', 5);
  await boards.event('b', 6);
  await boards.at('2026-11-11T09:00:00Z');
  await boards.event('a', 9);
  await boards.event('b', 8);
  await boards.at('2026-11-13T09:00:00Z');
  await boards.due();
  expect(await boards.sets()).toEqual([]);
  const { body } = await boards.laurel.app.get('/v1/users/a/wrapped?year=2026');
  expect(body.activity.entireYear.leaderboards.board).toMatchObject({ rank: 1, value: 9 });
  const other = await boards.laurel.app.get('/v1/users/b/wrapped?year=2026');
  expect(other.body.activity.entireYear.leaderboards.board).toMatchObject({ rank: 1, value: 6 });
});

import { afterEach, expect, test } from 'vitest';
import { StraySets } from '../../../src/engine/leaderboards/stray-sets.ts';
import { ofTimedMember } from '../../../src/packed/state.ts';
import { BoardsByTheClock } from './boards-by-the-clock.ts';

let boards: BoardsByTheClock;
afterEach(() => boards.laurel.close());

const BOARD = {
  key: 'board',
  name: 'B',
  rankBy: 'metric',
  metricKey: 'm',
  start: '2030-01-01',
  status: 'active',
} as const;
const DAILY = { runUnit: 'day', runInterval: 1 } as const;

/** Like the schedule; returns how often there was something to do. */
async function sweep(stray = new StraySets(boards.laurel)): Promise<number> {
  for (let times = 0; ; times += 1) {
    const due = await stray.due(boards.clock.now());
    if (due === null) return times;
    expect(due).toBeLessThanOrEqual(boards.clock.now());
    await stray.perform(due, new AbortController().signal);
  }
}

test('a deleted leaderboard, and one that now scores something else, leave nothing in Redis; other leaderboards and users with that name stay', async () => {
  boards = await BoardsByTheClock.start('2030-01-05T10:00:00Z', [
    { ...BOARD, ...DAILY, breakdownAttributes: ['land'] },
    { ...BOARD, key: 'stays', name: 'S', breakdownAttributes: ['land'] },
    { ...BOARD, key: 'other', name: 'O' },
  ]);
  expect(await sweep()).toBe(1);
  for (const land of ['fr', 'de']) await boards.event({ id: `of ${land}`, attributes: { land } }, 5);
  await boards.event({ id: 'x:b:1:20000:' }, 5);
  const before = await boards.setNames();
  // And the user with that name.
  expect(before.length).toBe(3 + 3 + 1 + 1);
  expect(await sweep()).toBe(0);

  const { body } = await boards.laurel.admin.get('/v1/leaderboards');
  const idOf = (key: string): string => body.find((board: { key: string }) => board.key === key).id;
  await boards.laurel.admin.delete(`/v1/leaderboards?ids=${idOf('board')}`);
  await boards.change('other', { status: 'inactive' });
  const metrics: { id: string; key: string }[] = (await boards.laurel.admin.get('/v1/metrics')).body;
  await boards.change('other', { metricId: metrics.find(({ key }) => key === 'other')!.id, status: 'active' });
  await boards.event({ id: 'of fr' }, 2, 'other');
  await boards.fill();
  expect(await sweep()).toBe(1);

  const left = await boards.setNames();
  expect(left.filter((name) => before.includes(name)).length).toBe(3 + 1);
  expect(left.length).toBe(3 + 1 + 1);
  expect(await boards.places('userAttributes=land:fr', 'stays')).toEqual([[1, 'of fr', 5]]);
  expect(await boards.places('', 'other')).toEqual([[1, 'of fr', 2]]);
  expect(await sweep()).toBe(0);
});

test('leaderboards that are deleted one right after the other leave nothing in Redis', async () => {
  const keys = ['first', 'second', 'third'];
  boards = await BoardsByTheClock.start(
    '2030-01-05T10:00:00Z',
    keys.map((key) => ({ ...BOARD, key, name: key })),
  );
  await boards.event('ada', 5);
  const stray = new StraySets(boards.laurel);
  await sweep(stray);
  const { body } = await boards.laurel.admin.get('/v1/leaderboards');
  for (const [deleted, { id }] of body.entries()) {
    await boards.laurel.admin.delete(`/v1/leaderboards?ids=${id}`);
    expect(await sweep(stray)).toBe(1);
    expect((await boards.sets()).length).toBe(keys.length - 1 - deleted);
  }
});

test('removes on the next day what a very late event recreated of a final run, and changes nothing else', async () => {
  boards = await BoardsByTheClock.start('2030-01-05T10:00:00Z', [{ ...BOARD, ...DAILY }]);
  await sweep();
  await boards.event('ada', 5);
  await boards.at('2030-01-06T12:05:00Z');
  await boards.due();
  expect(await boards.sets()).toEqual([]);
  expect(await sweep()).toBe(1);
  // As by a frontend whose clock stands still.
  boards.clock.set(Date.parse('2030-01-05T23:00:00Z'));
  await boards.event('late', 9);
  boards.clock.set(Date.parse('2030-01-06T12:30:00Z'));
  expect((await boards.sets()).length).toBe(1);
  expect(await sweep()).toBe(0);
  boards.clock.set(Date.parse('2030-01-06T13:00:00Z'));
  expect(await sweep()).toBe(1);
  expect(await boards.sets()).toEqual([]);
  expect(await boards.places('run=2030-01-05')).toEqual([[1, 'ada', 5]]);
});

test.each(['shared', 'first'] as const)(
  'removes a deleted user from runs that the state no longer names: ties %s',
  async (ties) => {
    boards = await BoardsByTheClock.start('2030-01-01T10:00:00Z', [
      { ...BOARD, ...DAILY, ties, breakdownAttributes: ['land'] },
    ]);
    for (let day = 1; day <= 5; day += 1) {
      boards.clock.set(Date.parse(`2030-01-0${day}T10:00:00Z`));
      for (const id of ['leaves', 'stays']) await boards.event({ id, attributes: { land: 'fr' } }, 5);
    }
    const sets = (await boards.sets()).filter((key) => key.includes(':b:'));
    expect((await boards.setNames()).filter((name) => name.includes(':b:')).length).toBe(5);
    await boards.laurel.admin.delete('/v1/users?ids=leaves');
    const members = await Promise.all(sets.map((key) => boards.laurel.redis.zrange(key, '0', '-1')));
    const users = members.flat().map((member) => (ties === 'first' ? ofTimedMember(member, false).userId : member));
    expect(users).toEqual(Array.from({ length: 5 }, () => 'stays'));
  },
);

import { afterEach, beforeEach, expect, test } from 'vitest';
import { RedisNotReady } from '../../../src/redis/gate.ts';
import { decodeUser } from '../../../src/rules/user-codec.ts';
import { packedUser } from '../../../src/redis/parts.ts';
import { rebuildByHand, rebuildThatStands } from '../rebuild/by-hand.ts';
import { BoardsByTheClock, DAILY } from './boards-by-the-clock.ts';
import { differencesIn } from '../../differences.ts';

let boards: BoardsByTheClock;
/** Continues a stopped rebuild, and waits for it. */
let goOn: () => Promise<void>;

beforeEach(async () => {
  goOn = () => Promise.resolve();
  boards = await BoardsByTheClock.start('2026-11-18T12:00:00Z', [{ ...DAILY, breakdownAttributes: ['land'] }]);
  await boards.event({ id: 'u', attributes: { land: 'de' } }, 5);
  await boards.event({ id: 'v', attributes: { land: 'fr' } }, 7);
});
afterEach(async () => {
  await goOn();
  await boards.laurel.close();
});

/** Begins a rebuild and stops it: nobody is on any leaderboard. */
async function empty(): Promise<void> {
  goOn = await rebuildThatStands(boards.laurel);
  expect(await boards.sets()).toEqual([]);
}

async function expectAll(): Promise<void> {
  expect(await boards.places('run=2026-11-18&userAttributes=land:de')).toEqual([[1, 'u', 5]]);
  expect(await boards.places('run=2026-11-18&userAttributes=land:fr')).toEqual([[1, 'v', 7]]);
  expect(await boards.history('u', 'run=2026-11-18')).toContainEqual(['2026-11-18', null, 1, null, 5]);
}

test('takes neither a snapshot nor a final run of a Redis that is being rebuilt', async () => {
  await boards.at('2026-11-19T12:02:00Z');
  await empty();
  for (const kind of boards.kinds) {
    const dueMs = await kind.due(boards.clock.now());
    await expect(kind.perform(dueMs!, new AbortController().signal)).rejects.toThrow(RedisNotReady);
  }
  await goOn();
  await boards.due();
  await expectAll();
});

test('finishes copying a run of which a part was copied when Redis was rebuilt', async () => {
  await boards.at('2026-11-19T12:02:00Z');
  let groups = 0;
  boards.onStep = async (step) => {
    if (step === 'written' && ++groups === 1) await empty();
  };
  await expect(boards.due()).rejects.toThrow(RedisNotReady);
  await goOn();
  await boards.due();
  await expectAll();
});

test.each(['shared', 'first'] as const)(
  'a run that ended while no worker ran keeps everybody, although users went on and Redis was lost before it became final; ties %s',
  async (ties) => {
    await boards.laurel.close();
    const common = { name: 'Board', status: 'active', rankBy: 'metric', metricKey: 'm', start: '2026-11-18' } as const;
    boards = await BoardsByTheClock.start('2026-11-18T10:00:00Z', [
      { ...common, key: 'board', runUnit: 'day', runInterval: 7, ties },
      { ...common, key: 'teams', runUnit: 'day', runInterval: 1, teamAttributeKey: 'land' },
    ]);
    const { laurel } = boards;
    const redis = await laurel.connect();
    const differences = () => differencesIn({ redis, pool: laurel.pool });
    const teams = async (run: string) =>
      (await laurel.app.get(`/v1/leaderboards/teams/teams?run=${run}`)).body.rankings;
    await boards.event({ id: 'u', attributes: { land: 'de' } }, 5);
    await boards.event({ id: 'v', attributes: { land: 'fr' } }, 7);
    const first = await teams('2026-11-18');
    expect(first).toHaveLength(2);
    // Nobody records final ranks.
    for (const day of ['2026-11-20', '2026-11-24', '2026-11-25', '2026-11-27', '2026-11-28']) {
      await boards.at(`${day}T09:00:00Z`);
      for (const id of ['u', 'v', 'w']) await boards.event({ id, attributes: { land: 'at' } }, 1);
    }
    await boards.store();
    expect(await differences()).toEqual([]);
    await rebuildByHand(laurel, redis);
    expect(await differences()).toEqual([]);
    await boards.due();
    const ended = [
      [1, 'v', 9],
      [2, 'u', 7],
      [3, 'w', 2],
    ];
    expect(await boards.places('run=2026-11-18')).toEqual(ended);
    expect(await boards.places('run=2026-11-18', 'teams')).toEqual([
      [1, 'v', 7],
      [2, 'u', 5],
    ]);
    expect(await teams('2026-11-18')).toEqual(first);
    // Later events drop what Postgres now holds.
    const runs = async (): Promise<number[]> => {
      const { scores } = decodeUser((await packedUser(redis, 0, 'u'))!);
      return [...new Set(scores.map(({ board }) => board))].map(
        (no) => scores.filter(({ board }) => board === no).length,
      );
    };
    expect(await runs()).toEqual([2, 6]);
    await boards.at('2026-11-29T13:00:00Z');
    await boards.due();
    await expect
      .poll(async () => {
        await boards.event('u', 1);
        return runs();
      })
      .toEqual([1, 2]);
    await boards.store();
    expect(await differences()).toEqual([]);
    expect(await boards.places('run=2026-11-18')).toEqual(ended);
    redis.disconnect();
  },
);

import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { differencesIn } from '../../differences.ts';
import { BoardsByTheClock, DAILY } from './boards-by-the-clock.ts';
import { type RewardStep, rewardRanks } from './rewards-by-the-clock.ts';

// Users are merged while the ranks of a run are being rewarded, and the worker dies before or after it has noted what it paid.

const forRanks = { type: 'achievement', status: 'active', leaderboardKey: 'board' } as const;
const XP = {
  key: 'xp',
  name: 'XP',
  triggers: [
    { ...forRanks, points: 100, rankTo: 1 },
    { ...forRanks, points: 10, rankFrom: 3, rankTo: 3 },
  ],
};

let boards: BoardsByTheClock;
afterEach(() => boards.laurel.close());

/** A run in which `first` and `third` have the rewarded ranks, and `none` has no place; it has ended. */
async function start(): Promise<void> {
  boards = await BoardsByTheClock.start('2026-11-18T10:00:00Z', [DAILY], { pointsSystems: [XP] });
  for (const [user, value] of Object.entries({ first: 9, second: 7, third: 5 })) await boards.event(user, value);
  await boards.at('2026-11-19T11:00:00Z');
  await boards.event('none', 1);
  await boards.at('2026-11-19T12:00:11Z');
}

async function merge(from: string, into: string): Promise<void> {
  await boards.store();
  const asked = { from, into, acrossControlGroup: true };
  expect(await boards.laurel.admin.post('/v1/users/merge', asked)).toMatchObject({ status: 200 });
}

/** Rewards the ranks until all are rewarded; the worker dies after the first `step`, and then users are merged. */
async function rewardWith(step: RewardStep, from: string, into: string): Promise<void> {
  let isDead = false;
  const failures = await rewardRanks(boards, (each) => {
    if (isDead || each !== step) return;
    isDead = true;
    throw new Error('killed');
  });
  expect(failures).toEqual(['killed']);
  await merge(from, into);
  await boards.store();
  expect(await rewardRanks(boards)).toEqual([]);
  const { rows } = await boards.laurel.pool.query('SELECT FROM run_rewards WHERE NOT is_done');
  expect(rows).toEqual([]);
}

const pointsOf = async (user: string): Promise<number> =>
  (await boards.laurel.app.get(`/v1/users/${user}/points/xp`)).body.total;

/** Points of the remaining user, and of all. */
const CASES = [
  ['a rewarded user into one whose rank is next', 'first', 'third', 110],
  ['one whose rank is next into a rewarded user: the place of the merged user is gone', 'third', 'first', 100],
  ['a rewarded user into one without a place', 'first', 'none', 100],
  ['a user without a place into one who is rewarded', 'none', 'first', 100],
  ['a user whose rank is next into one without a place', 'third', 'none', 10],
  ['a user without a place into one whose rank is next', 'none', 'third', 10],
] as const;

for (const step of ['paid', 'noted'] as const)
  test.each(CASES)(`after "${step}": %s`, async (_, from, into, points) => {
    await start();
    await rewardWith(step, from, into);
    expect(await pointsOf(into)).toBe(points);
    expect(await differencesIn(boards.laurel)).toEqual([]);
    // Rankings show what the user got for the rank.
    const { body } = await boards.laurel.app.get('/v1/leaderboards/board?run=2026-11-18');
    const own = body.rankings.filter(({ userId }: { userId: string }) => userId === into);
    expect(own.length).toBe(1);
    expect(own[0].rewards).toEqual({ points: { xp: own[0].rank === 1 ? 100 : 10 }, achievements: [] });
    // The next run is rewarded as always.
    await boards.at('2026-11-20T12:00:11Z');
    expect(await rewardRanks(boards)).toEqual([]);
  });

test('a merge just before its users are rewarded, which Postgres does not have yet', async () => {
  await start();
  let isMerged = false;
  let storing: Promise<void> = Promise.resolve();
  const failures = await rewardRanks(boards, async (step) => {
    if (isMerged || step !== 'paid') return;
    isMerged = true;
    await merge('third', 'none');
    storing = sleep(200).then(() => boards.store());
  });
  await storing;
  expect(failures).toEqual([]);
  expect(await pointsOf('none')).toBe(10);
  expect(await differencesIn(boards.laurel)).toEqual([]);
});

import { expect, test } from 'vitest';
import { dateOf, dayOf } from '../../../src/domain/periods.ts';
import { boardGroupsKey, boardKey } from '../../../src/redis/keys.ts';
import { testStack } from '../../stack/stack.ts';
import { withEngineOn, type TestEngine } from './engine.ts';
import { onlyPart } from '../../stack/only-part.ts';
import { decimalText } from '../../../src/domain/decimal.ts';
import { opened } from '../../stack/opened.ts';

const stack = opened(() => testStack({ database: 'none' }));

const withEngine = withEngineOn(() => stack.redisUrl);

/** The scores of a leaderboard in a user's state: first day of the run, group, score; newest run first. */
const scoresOf = async (laurel: TestEngine, user: string) => {
  const no = laurel.compiled().leaderboards.get('board')!.no;
  const { scores } = await laurel.users.state(0, user);
  return scores
    .filter(({ board }) => board === no)
    .map(({ runDay, group, ...score }) => [dateOf(runDay), group, decimalText(score)]);
};
const members = (laurel: TestEngine, runDay: string, group = '') => {
  const boardNo = laurel.compiled().leaderboards.get('board')!.no;
  return laurel.redis.zrange(boardKey(onlyPart(0), { boardNo, runDay: dayOf(runDay), group }), '0', '-1', 'WITHSCORES');
};

test('a user who crosses the date line continues in the runs of the earlier days', () =>
  withEngine(
    (b) => b.leaderboard('board', 'metric', { metricId: b.metric('m').id, runUnit: 'day', runInterval: 1 }),
    async (laurel) => {
      laurel.clock.set(Date.parse('2026-11-17T12:00:00Z'));
      await laurel.event('m', 'u', 1);
      laurel.clock.set(Date.parse('2026-11-18T11:00:00Z'));
      await laurel.event('m', { id: 'u', tz: '' }, 2);
      await laurel.event('m', { id: 'u', tz: 'Pacific/Kiritimati' }, 4);
      await laurel.event('m', { id: 'u', tz: 'Etc/GMT+12' }, 8);
      await laurel.event('m', { id: 'u', tz: '' }, 16);
      expect(await scoresOf(laurel, 'u')).toEqual([
        ['2026-11-19', '', '4'],
        ['2026-11-18', '', '18'],
        ['2026-11-17', '', '9'],
      ]);
      expect(await members(laurel, '2026-11-18')).toEqual(['u', '18']);
    },
  ));

test('scores of runs that have ended in every zone leave the state with the next score', () =>
  withEngine(
    (b) => b.leaderboard('board', 'metric', { metricId: b.metric('m').id, runUnit: 'day', runInterval: 1 }),
    async (laurel) => {
      for (const day of ['14', '15', '16', '17', '18']) {
        laurel.clock.set(Date.parse(`2026-11-${day}T12:00:00Z`));
        await laurel.event('m', 'u', 1);
      }
      expect(await scoresOf(laurel, 'u')).toEqual([
        ['2026-11-18', '', '1'],
        ['2026-11-17', '', '1'],
      ]);
    },
  ));

test('a changed breakdown value moves the score at the next event of any metric, without naming the leaderboard', () =>
  withEngine(
    (b) => {
      b.metric('other');
      const breakdownAttributes = [b.attribute('land', 'user').id];
      b.leaderboard('board', 'metric', { metricId: b.metric('m').id, breakdownAttributes });
    },
    async (laurel) => {
      await laurel.event('m', { id: 'u', attributes: { land: 'de' } }, 5);
      const moved = await laurel.event('other', { id: 'u', attributes: { land: 'fr' } }, 3);
      expect(moved.leaderboards).toEqual({});
      expect(await members(laurel, '2026-01-01', '2:de')).toEqual([]);
      expect(await members(laurel, '2026-01-01', '2:fr')).toEqual(['u', '5']);
      const boardNo = laurel.compiled().leaderboards.get('board')!.no;
      const groups = await laurel.redis.smembers(boardGroupsKey(onlyPart(0), { boardNo, runDay: dayOf('2026-01-01') }));
      // The empty group is gone.
      expect(groups).toEqual(['2:fr']);
    },
  ));

test('a user without a breakdown value is not ranked, and keeps the score until there is a value', () =>
  withEngine(
    (b) => {
      const breakdownAttributes = [b.attribute('land', 'user').id];
      b.leaderboard('board', 'metric', { metricId: b.metric('m').id, breakdownAttributes });
    },
    async (laurel) => {
      expect((await laurel.event('m', 'u', 5)).leaderboards).toEqual({});
      expect(await laurel.redis.keys('{s0}:0:b:*')).toEqual([]);
      const ranked = await laurel.event('m', { id: 'u', attributes: { land: 'de' } }, 2);
      expect(ranked.leaderboards['board']).toMatchObject({ previousRank: null, rank: 1 });
      expect(await members(laurel, '2026-01-01', '2:de')).toEqual(['u', '7']);
    },
  ));

test('a falling total lowers the score, and removes it from the leaderboard at 0', () =>
  withEngine(
    (b) => b.leaderboard('board', 'metric', { metricId: b.metric('m').id, maxParticipants: 1 }),
    async (laurel) => {
      await laurel.event('m', 'a', 5);
      await laurel.event('m', 'b', 4);
      const fallen = await laurel.event('m', 'a', -2);
      expect(fallen.leaderboards['board']).toMatchObject({ previousRank: 1, rank: null, threshold: 4 });
      const gone = await laurel.event('m', 'b', -4);
      expect(gone.leaderboards['board']).toMatchObject({ previousRank: 1, rank: null, threshold: 3 });
      expect(await members(laurel, '2026-01-01')).toEqual(['a', '3']);
      const back = await laurel.event('m', 'a', 2);
      expect(back.leaderboards['board']).toMatchObject({ previousRank: 1, rank: 1, threshold: 5 });
    },
  ));

test('the score of a deleted leaderboard leaves the state with the first event of the next day', () =>
  withEngine(
    (b) => {
      const { id: metricId } = b.metric('m');
      b.leaderboard('gone', 'metric', { metricId });
      b.leaderboard('board', 'metric', { metricId });
      b.metric('newest');
      b.leaderboard('new', 'metric', { metricId });
    },
    async (laurel) => {
      const { leaderboards } = laurel.catalog;
      const boardsOf = async (user: string) => {
        const { scores } = await laurel.users.state(0, user);
        return leaderboards.filter(({ no }) => scores.some(({ board }) => board === no)).map(({ key }) => key);
      };
      await laurel.event('m', 'u', 1);
      expect(await boardsOf('u')).toEqual(['gone', 'board', 'new']);
      // A frontend that has not heard of the newest leaderboard keeps the scores of leaderboards that it does not know.
      laurel.catalog = { ...laurel.catalog, leaderboards: leaderboards.filter(({ key }) => key === 'board') };
      await laurel.event('m', 'u', 1);
      expect(await boardsOf('u')).toEqual(['gone', 'board', 'new']);
      laurel.clock.set(Date.parse('2026-11-19T00:00:00Z'));
      await laurel.event('m', 'u', 1);
      expect(await boardsOf('u')).toEqual(['board', 'new']);
      expect(await scoresOf(laurel, 'u')).toEqual([['2026-01-01', '', '3']]);
    },
  ));

import { expect, test } from 'vitest';
import {
  pointsBoosts,
  pointsLevels,
  pointsLevelSummary,
  usersPoints,
  usersPointsBoosts,
} from '../../../src/operations/points.ts';
import { testDatabase } from '../../postgres/database.ts';
import type { CatalogBuilder } from '../catalog-builder.ts';
import { fitting, withReads, type ReadFixture } from '../read-fixture.ts';
import { opened } from '../../stack/opened.ts';

const database = opened(() => testDatabase());

const pointsOf = async (reads: ReadFixture, user: string, awards = 10) =>
  fitting(usersPoints, await reads.userPoints.points(reads.compiled, user, { key: 'xp', awards }));

function study(b: CatalogBuilder): void {
  const flips = b.metric('flips');
  const xp = b.system('xp');
  b.system('none');
  b.level(xp, 'gold', 100);
  b.level(xp, 'bronze', 10);
  b.trigger(xp, 'metric', { points: 10, metricId: flips.id, metricThreshold: 5 });
  b.trigger(xp, 'streak', { points: 1, streakLength: 1 });
  b.boost(xp, { name: 'double', start: '2026-11-18', end: '2026-11-18' });
}

test('total and level are live; awards come newest first, with trigger and boosts', () =>
  withReads(database, study, async (reads) => {
    await expect(pointsOf(reads, 'u')).rejects.toMatchObject({ code: 'not_found' });
    const answer = await reads.laurel.event('flips', 'u', 5);
    expect(await pointsOf(reads, 'u')).toMatchObject({ total: 22, level: { key: 'bronze' }, awards: [] });
    reads.at('2026-11-19T12:00:00Z');
    await reads.laurel.event('flips', 'u', 1);
    await reads.persist();
    const points = await pointsOf(reads, 'u');
    expect(points).toMatchObject({ key: 'xp', total: 23, level: { key: 'bronze' } });
    expect(points.awards.map(({ awarded, total, date }) => [awarded, total, date])).toEqual([
      [1, 23, '2026-11-19T12:00:00.000Z'],
      [2, 22, '2026-11-18T12:00:00.000Z'],
      [20, 20, '2026-11-18T12:00:00.000Z'],
    ]);
    // As the event reported them; the boost is over by now.
    const reported = answer.points['xp']!.awards.map((award) => ({
      ...award,
      boosts: award.boosts!.map((boost) => ({ ...boost, status: 'finished' })),
    }));
    expect(points.awards.slice(1).reverse()).toEqual(reported);
    expect((await pointsOf(reads, 'u', 1)).awards).toHaveLength(1);
    const none = await reads.userPoints.points(reads.compiled, 'u', { key: 'none', awards: 1 });
    expect(none).toMatchObject({ total: 0, level: null, awards: [] });
    await expect(reads.userPoints.points(reads.compiled, 'u', { key: 'no', awards: 1 })).rejects.toMatchObject({
      code: 'not_found',
    });
  }));

test('an award keeps what is known of its deleted trigger, metric and boost', () =>
  withReads(database, study, async (reads) => {
    await reads.laurel.event('flips', 'u', 5);
    await reads.persist();
    const { catalog } = reads.laurel;
    const gone = {
      points_trigger: catalog.triggers[0]!,
      points_boost: catalog.boosts[0]!,
      metric: catalog.metrics[0]!,
    };
    for (const [kind, { id, no, created, updated, ...doc }] of Object.entries(gone)) {
      await reads.pool.query(
        `INSERT INTO catalog_resources (id, tenant_no, no, kind, doc, created, updated, deleted)
         VALUES ($1, 0, $2, $3, $4, to_timestamp($5 / 1000.0), to_timestamp($6 / 1000.0), now())`,
        [id, no, kind, JSON.stringify(doc), created, updated],
      );
    }
    const before = await pointsOf(reads, 'u');
    reads.laurel.catalog = { ...catalog, metrics: [], boosts: [], triggers: catalog.triggers.slice(1) };
    const [streak, metric] = (await pointsOf(reads, 'u')).awards;
    expect(streak).toEqual({ ...before.awards[0], boosts: [{ ...before.awards[0]!.boosts![0], status: 'finished' }] });
    expect(metric!.trigger).toEqual({ ...before.awards[1]!.trigger, status: 'archived' });
    expect(metric!.trigger).toMatchObject({ metricName: 'Metric flips', metricThreshold: 5 });
    // Nothing at all is known: the award stays.
    await reads.pool.query('TRUNCATE catalog_resources CASCADE');
    expect((await pointsOf(reads, 'u')).awards[1]).toEqual({
      id: before.awards[1]!.id,
      awarded: 20,
      date: '2026-11-18T12:00:00.000Z',
      total: 20,
    });
  }));

test("boosts: a system's by status, a user's by attributes and local date", () =>
  withReads(
    database,
    (b) => {
      const xp = b.system('xp');
      const land = b.attribute('land', 'user').id;
      b.metric('m');
      b.boost(b.system('other'), { name: 'elsewhere' });
      b.boost(xp, { name: 'over', end: '2026-11-17' });
      b.boost(xp, { name: 'now', end: '2026-11-18' });
      b.boost(xp, { name: 'next', start: '2026-11-19' });
      b.boost(xp, { name: 'french', userAttributes: [{ attributeId: land, attributeValue: 'fr' }] });
      b.boost(xp, { name: 'mine', userId: 'u' });
      b.boost(xp, { name: 'yours', userId: 'v' });
    },
    async (reads) => {
      const system = (finished: boolean) =>
        fitting(pointsBoosts, reads.points.boosts(reads.compiled, 'xp', finished)).map(({ name, status }) => [
          name,
          status,
        ]);
      expect(system(true)).toEqual([
        ['over', 'finished'],
        ['now', 'active'],
        ['next', 'scheduled'],
        ['french', 'active'],
      ]);
      expect(system(false)).toEqual(system(true).slice(1));
      const own = async (user: string) =>
        fitting(usersPointsBoosts, await reads.userPoints.boosts(reads.compiled, user, 'xp')).map(({ name }) => name);
      await reads.laurel.event('m', { id: 'u', tz: 'Pacific/Kiritimati' }, 1);
      await reads.laurel.event('m', { id: 'v', attributes: { land: 'fr' } }, 1);
      expect(await own('u')).toEqual(['next', 'mine']);
      expect(await own('v')).toEqual(['now', 'french', 'yours']);
      await expect(own('nobody')).rejects.toMatchObject({ code: 'not_found' });
      expect(() => reads.points.boosts(reads.compiled, 'no', true)).toThrow(/Unknown points system/);
    },
  ));

test('levels, lowest first, with the number of users on each', () =>
  withReads(
    database,
    (b) => {
      study(b);
      const zero = b.system('zero');
      b.level(zero, 'start', 0);
      b.level(zero, 'ten', 10);
      b.trigger(zero, 'metric', { points: 1, metricId: b.catalog.metrics[0]!.id, metricThreshold: 1 });
    },
    async (reads) => {
      reads.at('2026-01-05T00:00:00Z');
      for (const [user, value] of [
        ['a', 4],
        ['b', 5],
        ['c', 44],
        ['d', 45],
        ['e', 50],
        ['f', 0],
      ] as const)
        await reads.laurel.event('flips', user, value);
      expect(fitting(pointsLevels, reads.points.levels(reads.compiled, 'xp')).map(({ key }) => key)).toEqual([
        'bronze',
        'gold',
      ]);
      const summary = async (key: string) =>
        fitting(pointsLevelSummary, await reads.points.levelSummary(reads.compiled, key)).map(({ level, users }) => [
          level.key,
          users,
        ]);
      // a has 1 point, b 11, c 81, d 91, e 101, f none.
      expect(await summary('xp')).toEqual([
        ['bronze', 3],
        ['gold', 1],
      ]);
      expect(await summary('zero')).toEqual([
        ['start', 3],
        ['ten', 3],
      ]);
      expect(reads.points.levels(reads.compiled, 'none')).toEqual([]);
      await expect(summary('none')).rejects.toMatchObject({ code: 'unprocessable' });
      await expect(summary('no')).rejects.toMatchObject({ code: 'not_found' });
    },
  ));

import { afterEach, expect, test } from 'vitest';
import { BoardsByTheClock } from '../leaderboards/boards-by-the-clock.ts';

let boards: BoardsByTheClock;
afterEach(() => boards.laurel.close());

test('a changed attribute moves a score with the next event, not when an administrator changes the streak', async () => {
  const points = { status: 'active', rankBy: 'points', pointsSystemKey: 'xp', start: '2026-11-01' } as const;
  boards = await BoardsByTheClock.start(
    '2026-11-02T12:00:00Z',
    [{ ...points, key: 'board', name: 'Board', breakdownAttributes: ['land'] }],
    {
      streaks: { enabled: true, freezes: { enabled: true, initial: 0, max: 2 } },
      pointsSystems: [
        {
          key: 'xp',
          name: 'XP',
          triggers: [{ type: 'metric', metricKey: 'm', metricThreshold: 1, points: 10, status: 'active' }],
        },
      ],
    },
  );
  await boards.event({ id: 'u', attributes: { land: 'de' } }, 1);
  const { app, admin } = boards.laurel;
  expect(await app.patch('/v1/users/u', { attributes: { land: 'fr' } })).toMatchObject({ status: 200 });
  expect(await admin.post('/v1/streaks/freezes', { freezes: [{ userId: 'u' }] })).toMatchObject({ status: 201 });
  const [de, fr] = ['userAttributes=land:de', 'userAttributes=land:fr'];
  expect([await boards.places(de), await boards.places(fr)]).toEqual([[[1, 'u', 10]], []]);
  await boards.event('u', 1);
  expect([await boards.places(de), await boards.places(fr)]).toEqual([[], [[1, 'u', 20]]]);
});

import { afterEach, expect, test } from 'vitest';
import { BoardsByTheClock } from '../leaderboards/boards-by-the-clock.ts';

let laurel: BoardsByTheClock;
afterEach(() => laurel.laurel.close());

const DAYS = { key: 'days', name: 'Days', status: 'active', rankBy: 'streak', start: '2026-11-01' } as const;
const FREEZES = { enabled: true, initial: 2, max: 2 };

/** Nobody sweeps here: reads settle what the clock did. */
const start = (streaks: object, now = '2026-11-02T12:00:00Z') =>
  BoardsByTheClock.start(now, [DAYS], { streaks: { enabled: true, ...streaks } });
const set = async (settings: object): Promise<void> => {
  expect(await laurel.laurel.admin.patch('/v1/streaks/settings', settings)).toMatchObject({ status: 200 });
};
const streak = async (user: string) => (await laurel.laurel.app.get(`/v1/users/${user}/streak`)).body;

test.each(['2026-11-04T12:00:00Z', '2026-11-04T00:00:00Z'])('a day missed before %s was frozen', async (changed) => {
  laurel = await start({ freezes: FREEZES });
  for (const user of ['read', 'acts']) await laurel.event(user, 1);
  await laurel.at(changed);
  await set({ freezes: { enabled: false } });
  expect(await streak('read')).toMatchObject({ length: 1, expires: '2026-11-04' });
  await laurel.at('2026-11-04T13:00:00Z');
  expect(await laurel.event('acts', 1)).toMatchObject({ currentStreak: { length: 2 } });
  await laurel.at('2026-11-05T12:00:00Z');
  expect(await streak('read')).toMatchObject({ length: 0 });
  expect(await streak('acts')).toMatchObject({ length: 2 });
});

test('activating freezes later does not restore what was lost', async () => {
  laurel = await start({ freezes: FREEZES });
  for (const user of ['read', 'acts']) await laurel.event(user, 1);
  await laurel.at('2026-11-03T12:00:00Z');
  await set({ freezes: { enabled: false } });
  await laurel.at('2026-11-04T12:00:00Z');
  await set({ freezes: { enabled: true } });
  expect(await streak('read')).toMatchObject({ length: 0, freezes: 2 });
  expect(await laurel.event('acts', 1)).toMatchObject({ currentStreak: { length: 1, freezes: 2 } });
});

test("each midnight is in the user's zone at that time, with its offset at that time", async () => {
  // Clocks went back on 1 November: at 04:30 it was half past midnight, or the evening before by the current offset.
  laurel = await start({ freezes: FREEZES }, '2026-10-30T12:00:00Z');
  for (const id of ['read', 'acts']) await laurel.event({ id, tz: 'America/New_York' }, 1);
  await laurel.at('2026-11-01T04:30:00Z');
  await set({ freezes: { enabled: false } });
  await laurel.at('2026-11-01T20:00:00Z');
  expect(await streak('read')).toMatchObject({ length: 1, expires: '2026-11-01' });
  expect(await laurel.event('acts', 1)).toMatchObject({ currentStreak: { length: 2 } });
});

test('a freeze was used in the earlier frequency; streak leaderboards follow the switch', async () => {
  laurel = await start({ frequency: 'daily', freezes: FREEZES });
  await laurel.event('u', 1);
  await laurel.at('2026-11-03T12:00:00Z');
  await laurel.event('u', 1);
  expect(await laurel.places('', 'days')).toEqual([[1, 'u', 2]]);
  await laurel.at('2026-11-05T12:00:00Z');
  await set({ frequency: 'weekly' });
  expect(await streak('u')).toMatchObject({ frequency: 'weekly', length: 1, freezes: 1 });
  await laurel.fill();
  expect(await laurel.places('', 'days')).toEqual([[1, 'u', 1]]);
  await set({ frequency: 'daily' });
  expect(await streak('u')).toMatchObject({ length: 2, freezes: 1, expires: '2026-11-05' });
  await laurel.fill();
  expect(await laurel.places('', 'days')).toEqual([[1, 'u', 2]]);
});

test('keeps previous settings until every zone is swept past them', async () => {
  laurel = await start({ freezes: FREEZES });
  await laurel.event({ id: 'u', tz: 'Asia/Tokyo' }, 1);
  await laurel.at('2026-11-03T12:00:00Z');
  await set({ frequency: 'weekly' });
  const kept = async (): Promise<unknown> => {
    // Any change of the catalog may drop them.
    await set({ evaluationMode: 'AND' });
    await set({ evaluationMode: 'OR' });
    const { rows } = await laurel.laurel.pool.query('SELECT streaks_before FROM tenants WHERE no = 0');
    return rows[0].streaks_before.map(({ streaks }: { streaks: { frequency: string } }) => streaks.frequency);
  };
  expect(await kept()).toEqual(['daily']);
  const sweptTo = (date: string) =>
    laurel.laurel.pool.query(`UPDATE streak_zones SET swept_day = $1::date - '1970-01-01'::date`, [date]);
  await sweptTo('2026-11-11');
  expect(await kept()).toEqual(['daily']);
  await sweptTo('2026-11-12');
  expect(await kept()).toEqual([]);
});

// 2026-11-08 is a Sunday: the last day of a week from Monday, the first of one from Sunday.
test('weeks that begin a day earlier end no streak, and use no freeze', async () => {
  const weekly = { frequency: 'weekly', weekStart: 'monday' } as const;
  laurel = await start({ ...weekly, freezes: FREEZES }, '2026-11-01T12:00:00Z');
  for (const user of ['read', 'acts']) await laurel.event(user, 1);
  await laurel.at('2026-11-08T12:00:00Z');
  expect(await streak('read')).toMatchObject({ length: 1, expires: '2026-11-08' });
  await set({ weekStart: 'sunday' });
  const kept = { length: 1, periodStart: '2026-11-08', periodEnd: '2026-11-14', expires: '2026-11-14', freezes: 2 };
  expect(await streak('read')).toMatchObject(kept);
  expect(await laurel.event('acts', 1)).toMatchObject({ currentStreak: { length: 2, expires: '2026-11-21' } });
  await laurel.at('2026-11-14T23:59:59Z');
  expect(await streak('read')).toMatchObject(kept);
  await laurel.at('2026-11-15T00:00:00Z');
  expect(await streak('read')).toMatchObject({ length: 1, expires: '2026-11-21', freezes: 1 });
});

test('a user who acts in the moment of the change keeps the streak as well', async () => {
  laurel = await start({ frequency: 'weekly', weekStart: 'monday' }, '2026-11-01T12:00:00Z');
  await laurel.event('u', 1);
  await laurel.at('2026-11-08T12:00:00Z');
  await laurel.event('u', 0);
  await set({ weekStart: 'sunday' });
  expect(await streak('u')).toMatchObject({ length: 1, expires: '2026-11-14' });
});

test('weeks that begin a day later continue with what was done in them', async () => {
  laurel = await start({ frequency: 'weekly', weekStart: 'sunday' }, '2026-11-01T12:00:00Z');
  await laurel.event('u', 1);
  await laurel.at('2026-11-08T12:00:00Z');
  await laurel.event('u', 1);
  await set({ weekStart: 'monday' });
  expect(await streak('u')).toMatchObject({ length: 2, started: '2026-11-01', expires: '2026-11-22' });
  expect(await laurel.event('u', 1)).toMatchObject({ currentStreak: { length: 2, extended: false } });
  await laurel.at('2026-11-09T12:00:00Z');
  expect(await laurel.event('u', 1)).toMatchObject({ currentStreak: { length: 2, extended: false } });
  await laurel.at('2026-11-16T12:00:00Z');
  expect(await laurel.event('u', 1)).toMatchObject({ currentStreak: { length: 3, extended: true } });
});

test.each([
  ['sunday', 'monday', ['2026-10-26', '2026-11-02', '2026-11-09', '2026-11-16', '2026-11-23']],
  ['monday', 'sunday', ['2026-10-25', '2026-11-01', '2026-11-08', '2026-11-15', '2026-11-22']],
])(
  'the past of weeks from %s counts in the weeks from %s that contain most of its days',
  async (weekStart, then, weeks) => {
    laurel = await start({ frequency: 'weekly', weekStart, freezes: FREEZES }, '2026-11-03T12:00:00Z');
    await laurel.event('u', 1);
    await laurel.at('2026-11-17T12:00:00Z');
    await laurel.event('u', 1);
    await laurel.at('2026-11-24T12:00:00Z');
    await laurel.store();
    await set({ weekStart: then });
    const { body } = await laurel.laurel.app.get('/v1/users/u/streak?historyPeriods=5');
    expect(body.streakHistory).toEqual(
      [0, 1, 1, 2, 2].map((length, n) => ({
        periodStart: weeks[n],
        periodEnd: expect.any(String),
        length,
        usedFreeze: n === 2,
        usedPause: false,
      })),
    );
  },
);

test('the past follows the rule of its time: none while the user had switched streaks off, then the user’s own', async () => {
  laurel = await start({ personalization: true });
  const acts = async (at: string, preferences: object | null, value: number): Promise<void> => {
    await laurel.at(`2026-11-${at}T12:00:00Z`);
    if (preferences !== null) {
      const answer = await laurel.laurel.app.patch('/v1/users/u/preferences', { streak: preferences });
      expect(answer.status).toBe(200);
    }
    await laurel.event('u', value);
  };
  await acts('02', null, 1);
  await acts('04', { enabled: false }, 1);
  await acts('06', { enabled: true, metrics: [{ key: 'm', threshold: 2 }] }, 1);
  await acts('08', null, 2);
  await acts('10', null, 2);
  await laurel.store();
  const { body } = await laurel.laurel.app.get('/v1/users/u/streak?historyPeriods=9');
  expect(body.streakHistory.map(({ length }: { length: number }) => length)).toEqual([1, 0, 0, 0, 0, 0, 1, 0, 1]);
});

test('a user who travels in the moment of the change earns nothing more by the previous settings', async () => {
  const earning = { enabled: true, initial: 0, max: 5, autoEarnInterval: 1, autoEarnAmount: 1 };
  laurel = await start({ freezes: earning });
  await laurel.event('u', 1);
  await laurel.at('2026-11-03T12:00:00Z');
  await laurel.event('u', 1);
  await set({ freezes: { autoEarnInterval: 5 } });
  // The fourth begins.
  await laurel.event({ id: 'u', tz: 'Pacific/Apia' }, 1);
  expect(await streak('u')).toMatchObject({ freezes: 1 });
});

test('earning counts from the local day of the setting', async () => {
  laurel = await start({});
  // It is the 3rd already.
  await laurel.event({ id: 'u', tz: 'Pacific/Kiritimati' }, 1);
  await laurel.at('2026-11-02T13:00:00Z');
  await set({ freezes: { enabled: true, initial: 0, max: 5, autoEarnInterval: 1, autoEarnAmount: 1 } });
  expect(await streak('u')).toMatchObject({ freezes: 0 });
  await laurel.at('2026-11-03T10:00:00Z');
  expect(await streak('u')).toMatchObject({ freezes: 1 });
});

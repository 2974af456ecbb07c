import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { isControl } from '../../../src/engine/responses/users.ts';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { mondayOf, monthOf } from '../../../src/domain/analytics.ts';
import { DAY_MS, dateOf } from '../../../src/domain/periods.ts';
import { startLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { countedAnalytics, storedAnalytics } from './stored-analytics.ts';
import { opened } from '../../stack/opened.ts';

const [system] = STUDY_APP.pointsSystems!;
const CONFIGURATION: Configuration = {
  ...STUDY_APP,
  // No rule refers to the theme, so users may write it.
  attributes: [...STUDY_APP.attributes!, { key: 'theme', name: 'Theme', type: 'user' }],
  pointsSystems: [
    {
      ...system!,
      triggers: [
        ...system!.triggers!,
        { type: 'metric', metricKey: 'minutes', metricThreshold: 7, points: -4, status: 'active' },
      ],
    },
  ],
  streaks: {
    enabled: true,
    frequency: 'daily',
    metrics: [{ metricKey: 'flips', threshold: 1 }],
    freezes: { enabled: true, initial: 1, max: 2 },
  },
};
/** A Thursday evening: in Tokyo it is Friday. Years ahead, because the test clock only goes forward. */
const START_MS = Date.UTC(2038, 3, 1, 20);
const FIRST_DAY = Math.floor(START_MS / DAY_MS);
const DAYS = 24;
const SHARE = 0.4;
const USERS = Array.from({ length: 12 }, (_, n) => `user-${n}`);
const isInTokyo = (user: string): boolean => USERS.indexOf(user) % 2 === 1;
const PLANS = ['free', 'pro'];

/** One step of a day: an event, possibly late by some days, or the reversal of an earlier event. */
interface Step {
  user: string;
  metric: 'flips' | 'minutes';
  value: number;
  plan: string | null;
  daysLate: number;
  reverses: number | null;
}

const step: fc.Arbitrary<Step> = fc.record({
  user: fc.constantFrom(...USERS),
  metric: fc.constantFrom('flips', 'minutes'),
  value: fc.oneof(
    fc.integer({ min: -3, max: 12 }),
    fc.integer({ min: 1, max: 9_999 }).map((n) => n / 1000),
  ),
  plan: fc.option(fc.constantFrom(...PLANS), { freq: 3 }),
  daysLate: fc.constantFrom(0, 0, 0, 0, 1, 3),
  reverses: fc.option(fc.nat({ max: 20 }), { freq: 6 }),
});

/** An event as the model knows it. */
interface Sent {
  id: string;
  user: string;
  metric: string;
  value: number;
  /** The UTC day on which it was sent, the one on which it happened, and the local day for which it counts. */
  day: number;
  happened: number;
  countsFor: number;
  /** `undefined` if the plan is not counted separately yet. */
  plan: string | undefined;
  isReversed: boolean;
}

const sent: Sent[] = [];
const firstSeen = new Map<string, number>();
/** The value that each user has, counted or not. */
const plans = new Map<string, string>();

const laurel = opened(() => startLaurel({ testClock: true, workers: true, configuration: CONFIGURATION }));
beforeAll(async () => {
  await laurel.admin.patch('/v1/organisation', { controlShare: SHARE, boardValues: 'whole' });
  await at(START_MS);
  await play();
});

async function at(ms: number): Promise<void> {
  expect((await laurel.admin.put('/v1/clock', { now: new Date(ms).toISOString() })).status).toBe(200);
}

/** Records an event, again while the server answers that it is too busy. */
async function recorded(metric: string, event: object, key?: string): Promise<{ eventId: string }> {
  const headers = { 'Idempotency-Key': randomUUID() };
  const how = { headers, ...(key !== undefined && { key }) };
  for (;;) {
    const { status, body } = await laurel.app.post(`/v1/metrics/${metric}/event`, event, how);
    if (status === 503) continue;
    expect([status, body.error]).toEqual([201, undefined]);
    return body;
  }
}

async function play(): Promise<void> {
  const introducedBy = new Map<string, string>();
  const days = fc.sample(fc.array(step, { maxLength: 10 }), { numRuns: DAYS, seed: Number(process.env['SEED']) });
  for (const [nth, steps] of days.entries()) {
    const nowMs = START_MS + nth * DAY_MS;
    await at(nowMs);
    for (const { user, metric, value, plan, daysLate, reverses } of steps) {
      const target = reverses === null ? undefined : sent.filter((event) => !event.isReversed).at(-1 - reverses);
      if (target !== undefined) {
        const { status } = await laurel.admin.post(`/v1/events/${target.id}/reverse`, {});
        expect(status).toBe(200);
        target.isReversed = true;
        continue;
      }
      const day = FIRST_DAY + nth;
      // A user who is not known yet has no earlier day.
      const late = firstSeen.has(user) ? Math.min(daysLate, day - firstSeen.get(user)!) : 0;
      if (plan !== null) plans.set(user, plan);
      const body = await recorded(metric, {
        user: { id: user, tz: isInTokyo(user) ? 'Asia/Tokyo' : 'UTC', ...(plan !== null && { attributes: { plan } }) },
        value,
        attributes: { deck: `deck ${value > 5}` },
        ...(late > 0 && { occurredAt: new Date(nowMs - late * DAY_MS).toISOString() }),
      });
      if (!firstSeen.has(user)) firstSeen.set(user, day);
      const countsFor = day - late + (isInTokyo(user) ? 1 : 0);
      const id = body.eventId;
      const held = plans.get(user);
      // A user introduces at most one value.
      if (held !== undefined && !introducedBy.has(held) && ![...introducedBy.values()].includes(user))
        introducedBy.set(held, user);
      const counted = held !== undefined && introducedBy.has(held) ? held : undefined;
      sent.push({ id, user, metric, value, day, happened: day - late, countsFor, plan: counted, isReversed: false });
    }
  }
}

/** To the day after the last one, which is the last one in Tokyo. */
const RANGE = `from=${dateOf(FIRST_DAY)}&to=${dateOf(FIRST_DAY + DAYS)}`;

async function read(path: string) {
  const { status, body } = await laurel.admin.get(`/v1/analytics/${path}`);
  expect([path, status, body.error]).toEqual([path, 200, undefined]);
  return body;
}

const distinct = <T>(items: readonly T[]): number => new Set(items).size;

/** The segments by their query, and the events and users that belong to each. */
const SEGMENTS: [query: string, has: (event: { user: string; plan?: string | undefined }) => boolean][] = [
  ['', () => true],
  ['&group=control', ({ user }) => isControl(user, SHARE)],
  ['&group=others', ({ user }) => !isControl(user, SHARE)],
  ['&userAttributes=plan:pro', ({ plan }) => plan === 'pro'],
];

test('all sums are those of what is stored', async () => {
  await read('users');
  expect(await countedAnalytics(laurel.pool)).toEqual(await storedAnalytics(laurel.pool));
});

test.each(SEGMENTS)('active users of a segment are those who sent events: %s', async (query, has) => {
  const { days, weeks, months, users, countedFrom, newUsers } = await read(`users?${RANGE}${query}`);
  // A user counts once in a period, in the segment of its first event.
  const firstIn = (periodOf: (day: number) => number): Map<number, number> => {
    const counted = new Map<number, number>();
    const seen = new Set<string>();
    for (const event of sent) {
      const period = periodOf(event.happened);
      const key = `${event.user} ${period}`;
      if (!seen.has(key) && has(event)) counted.set(period, (counted.get(period) ?? 0) + 1);
      seen.add(key);
    }
    return counted;
  };
  const shown = (rows: { date: string; activeUsers: number }[]): Map<number, number> =>
    new Map(
      rows.flatMap(({ date, activeUsers }) => (activeUsers === 0 ? [] : [[Date.parse(date) / DAY_MS, activeUsers]])),
    );
  expect(shown(days)).toEqual(firstIn((day) => day));
  expect(shown(weeks)).toEqual(firstIn(mondayOf));
  expect(shown(months)).toEqual(firstIn(monthOf));
  expect(users).toBe([...firstSeen.keys()].filter((user) => has({ user, plan: plans.get(user) })).length);
  // Periods that began before the first active user of the segment are counted only in part. A user's later events of a day
  // do not count.
  const from = query === '' ? null : Math.min(...firstIn((day) => day).keys());
  expect(countedFrom).toBe(from === null ? null : dateOf(from));
  for (const { date, isPartial } of [...weeks, ...months])
    expect([date, isPartial]).toEqual([date, from !== null && Date.parse(date) / DAY_MS < from]);
  const first = sent.filter((event, index) => sent.findIndex(({ user }) => user === event.user) === index);
  expect(newUsers).toBe(first.filter(has).length);
});

test('a metric has the events that were not reversed, on the days for which they count', async () => {
  const { metrics } = await read(`metrics?${RANGE}`);
  const { metrics: byDay } = await read(`metrics?${RANGE}&days=true`);
  for (const [at, { id, key, events, value, ...metric }] of metrics.entries()) {
    expect(metric).not.toHaveProperty('days');
    const own = sent.filter(({ metric, isReversed }) => metric === key && !isReversed);
    const sum = (of: Sent[]): number => Math.round(of.reduce((total, event) => total + event.value * 1e6, 0)) / 1e6;
    expect([key, events, value]).toEqual([key, own.length, sum(own)]);
    const page = await read(`metrics/${id}?${RANGE}`);
    expect(page).toMatchObject({ key, events, value, eventsBefore: 0, valueBefore: 0 });
    const days = page.days.map((day: { events: number }) => day.events);
    expect(byDay[at]).toEqual({ ...metrics[at], days });
    for (const [nth, row] of page.days.entries()) {
      const ofDay = own.filter(({ countsFor }) => countsFor === FIRST_DAY + nth);
      expect(row).toMatchObject({ events: ofDay.length, value: sum(ofDay), eventsBefore: 0 });
    }
    for (const { from, to, events: count } of page.sizes) {
      const isIn = (value: number): boolean =>
        from === to ? value === 0 : from >= 0 ? value >= from && value < to : value > from && value <= to;
      expect([from, count]).toEqual([from, own.filter((event) => isIn(event.value)).length]);
    }
    const sizes: { events: number }[] = page.sizes;
    expect(sizes.reduce((total, size) => total + size.events, 0)).toBe(own.length);
    // Reversals are events of their own.
    const all = sent.filter(({ metric }) => metric === key);
    expect(page.attributeEvents).toBe(all.length + all.filter(({ isReversed }) => isReversed).length);
  }
  const compared = await read(`metrics?from=${dateOf(FIRST_DAY + 12)}&to=${dateOf(FIRST_DAY + DAYS)}&group=control`);
  for (const { key, eventsBefore } of compared.metrics) {
    const before = sent.filter(
      ({ metric, isReversed, countsFor, user }) =>
        metric === key && !isReversed && countsFor < FIRST_DAY + 12 && isControl(user, SHARE),
    );
    expect([key, eventsBefore]).toEqual([key, before.length]);
  }
});

/** Users as the model knows them when they were first seen. */
const firstEvents = (): Sent[] => [...firstSeen.keys()].map((user) => sent.find((event) => event.user === user)!);

test.each(SEGMENTS)('cohorts of a segment are compared with all other users: %s', async (query, has) => {
  const { cohorts, comparison, returned } = await read(`retention?${RANGE}${query}`);
  const firsts = firstEvents();
  const activeIn = (user: string, week: number): boolean =>
    sent.some((event) => event.user === user && mondayOf(event.happened) === week);
  const countsOf = (week: number, weeks: number, isIn: (first: Sent) => boolean) => {
    const users = firsts.filter((first) => mondayOf(first.day) === week && isIn(first));
    const active = Array.from({ length: weeks }, (_, n) => users.filter(({ user }) => activeIn(user, week + n * 7)));
    return { users: users.length, active: active.map((each) => each.length) };
  };
  expect(cohorts).toHaveLength(4);
  // Without a segment, everyone is shown, and the control group is compared.
  const isCompared = query === '' ? ({ user }: Sent) => isControl(user, SHARE) : has;
  const expected: { own: number; ownActive: number; other: number; otherActive: number }[] = [];
  for (const { date, users, weeks } of cohorts as { date: string; users: number; weeks: number[] }[]) {
    const week = Date.parse(date) / DAY_MS;
    expect({ date, users, active: weeks }).toEqual({ date, ...countsOf(week, weeks.length, has) });
    const own = countsOf(week, weeks.length, isCompared);
    const other = countsOf(week, weeks.length, (first) => !isCompared(first));
    if (own.users === 0 || other.users === 0) continue;
    for (let n = 0; week + (n + 1) * 7 <= FIRST_DAY + DAYS - 1; n += 1) {
      const sum = (expected[n] ??= { own: 0, ownActive: 0, other: 0, otherActive: 0 });
      sum.own += own.users;
      sum.ownActive += own.active[n]!;
      sum.other += other.users;
      sum.otherActive += other.active[n]!;
    }
  }
  const today = FIRST_DAY + DAYS - 1;
  expect(returned).toEqual(
    [1, 7, 30].map((afterDays) => {
      const users = firsts.filter((first) => has(first) && first.day + afterDays < today);
      const isBack = ({ user, day }: Sent): boolean =>
        sent.some((event) => event.user === user && event.happened === day + afterDays);
      return { afterDays, users: users.length, active: users.filter(isBack).length };
    }),
  );
  expect(comparison).toHaveLength(expected.length);
  for (const { week, difference, low, high, ...counts } of comparison) {
    const { own, ownActive, other, otherActive } = expected[week]!;
    expect(counts).toEqual({
      segmentUsers: own,
      segmentActive: ownActive,
      otherUsers: other,
      otherActive,
    });
    expect(difference).toBeCloseTo(ownActive / own - otherActive / other);
    expect(low).toBeLessThanOrEqual(difference);
    expect(high).toBeGreaterThanOrEqual(difference);
  }
});

test('engagement is the value per active user of each group', async () => {
  const [{ id }] = (await read(`metrics?${RANGE}`)).metrics;
  const body = await read(`engagement?${RANGE}&metricId=${id}`);
  expect(body.sampled).toBe(firstSeen.size);
  for (const [group, has] of [
    ['control', true],
    ['others', false],
  ] as const) {
    const own = sent.filter(({ user }) => isControl(user, SHARE) === has);
    const counts = own.filter(({ metric, isReversed }) => metric === 'flips' && !isReversed);
    const value = counts.reduce((sum, event) => sum + event.value, 0);
    const activeUsers = distinct(own.map(({ user }) => user));
    expect(body[group]).toMatchObject({ activeUsers });
    expect(body[group].value).toBeCloseTo(value, 5);
    if (activeUsers > 0) expect(body[group].perUser).toBeCloseTo(value / activeUsers, 5);
  }
});

test('achievements, points, streaks and leaderboards add up to what users have', async () => {
  const { achievements, days, users } = await read(`achievements?${RANGE}`);
  expect(users).toBe(firstSeen.size);
  let completed = 0;
  for (const { id, holders, completed: count, medianSeconds } of achievements) {
    // Nothing was completed before the range, and nobody was deleted.
    expect(count).toBe(holders);
    completed += count;
    const page = await read(`achievements/${id}?${RANGE}`);
    expect(page).toMatchObject({ completed: count, holders, medianSeconds, sampled: firstSeen.size });
    if (page.progress !== null)
      expect(page.progress.reduce((sum: number, tenth: { users: number }) => sum + tenth.users, 0)).toBe(
        firstSeen.size - holders,
      );
  }
  expect(days.reduce((sum: number, day: { completed: number }) => sum + day.completed, 0)).toBe(completed);

  const [points] = (await read(`points?${RANGE}`)).systems;
  const totals = await laurel.pool.query<{ total: number }>(
    'SELECT sum(total.value::bigint)::float8 AS total FROM users CROSS JOIN LATERAL jsonb_each_text(points) AS total',
  );
  expect(points.net).toBe(totals.rows[0]!.total ?? 0);
  expect(points.awarded - points.taken).toBe(points.net);
  const page = await read(`points/${points.id}?${RANGE}`);
  expect(page).toMatchObject({ awarded: points.awarded, taken: points.taken });
  expect(page.days.at(-1).net).toBe(points.net);
  expect(page.ranges.reduce((sum: number, range: { users: number }) => sum + range.users, 0)).toBe(firstSeen.size);
  expect(page.triggers.reduce((sum: number, trigger: { awarded: number }) => sum + trigger.awarded, 0)).toBe(
    points.awarded,
  );

  const streaks = await read(`streaks?${RANGE}`);
  expect(streaks.lengths.reduce((sum: number, range: { users: number }) => sum + range.users, 0)).toBe(firstSeen.size);
  const { rows } = await laurel.pool.query<{ kind: number; n: number }>(
    'SELECT kind, count(*)::int AS n FROM streak_changes WHERE frequency = 1 AND superseded_by IS NULL GROUP BY kind',
  );
  const stored = (kind: number): number => rows.find((row) => row.kind === kind)?.n ?? 0;
  const sumOf = (field: string): number =>
    streaks.days.reduce((sum: number, day: Record<string, number>) => sum + day[field]!, 0);
  expect([sumOf('frozen'), sumOf('lost')]).toEqual([stored(1), stored(3)]);

  const { leaderboards } = await read('leaderboards');
  expect(leaderboards.map(({ key }: { key: string }) => key).toSorted()).toEqual(['flips', 'plans', 'weekly']);
  const board = leaderboards.find(({ key }: { key: string }) => key === 'flips');
  const { rankings } = (await laurel.app.get('/v1/leaderboards/flips?limit=100')).body;
  expect(board.participants).toBe(rankings.length);
  const ends = [board.scores.at(0), board.scores.at(-1)].map((score) => Math.floor(score?.value ?? 0));
  expect(ends).toEqual([rankings.at(0)?.value ?? 0, rankings.at(-1)?.value ?? 0]);
});

test('the balance of all users is less what they spent, hold and let expire, day by day', async () => {
  const nowMs = START_MS + DAYS * DAY_MS;
  const holdEndsMs = nowMs + DAY_MS;
  await at(nowMs);
  const users = [...firstSeen.keys()];
  const [points] = (await read(`points?${RANGE}`)).systems;
  const rich = users.filter((user) => !isInTokyo(user));
  for (const user of [...rich, ...users.filter(isInTokyo)]) await recorded('flips', { user: { id: user }, value: 20 });
  const xp = async (user: string, path: string, body: object) => {
    const how = { key: laurel.adminKey, headers: { 'Idempotency-Key': randomUUID() } };
    const { body: answer } = await laurel.app.post(`/v1/users/${user}/points/xp/${path}`, body, how);
    expect([path, answer.error]).toEqual([path, undefined]);
    return answer;
  };
  const [first, second, third] = rich as [string, string, string];
  const spending = await xp(first, 'spend', { amount: 7 });
  await xp(second, 'spend', { amount: 5 });
  await xp(first, `spendings/${spending.id}/refund`, {});
  const captured = await xp(second, 'hold', { amount: 3, expiresIn: 3 * 86_400 });
  await xp(second, `holds/${captured.id}/capture`, {});
  const released = await xp(second, 'hold', { amount: 2, expiresIn: 3 * 86_400 });
  await xp(second, `holds/${released.id}/release`, {});
  await xp(third, 'hold', { amount: 4, expiresIn: 86_400 });
  await xp(users.find(isInTokyo)!, 'spend', { amount: 1 });

  const balances = async (): Promise<number> => {
    const all = users.map((user) => laurel.app.get(`/v1/users/${user}/points/xp`));
    return (await Promise.all(all)).reduce((sum, { body }) => sum + (body.balance ?? body.total), 0);
  };
  const today = dateOf(FIRST_DAY + DAYS);
  const upTo = (to: string) => read(`points?from=${dateOf(FIRST_DAY)}&to=${to}`).then(({ systems }) => systems[0]);
  const now = await upTo(today);
  // The user in Tokyo spent on the next local day, which is not in the range; the balance is the present one.
  expect(now).toMatchObject({ spent: 15, refunded: 7, expired: 0, held: 4, balance: await balances() });
  expect(now.net - now.balance).toBe(5 + 3 + 4 + 1);
  const { days } = await read(`points/${points.id}?from=${dateOf(FIRST_DAY)}&to=${today}`);
  expect(days.at(-1)).toMatchObject({ refunded: 7, held: 4, net: now.net, balance: now.balance });
  for (const day of days.slice(0, -1)) expect(day).toMatchObject({ spent: 0, held: 0, balance: day.net });

  // A hold that ends by itself counts until the end of the day, and leaves no record.
  await at(holdEndsMs + 1);
  expect(await upTo(dateOf(FIRST_DAY + DAYS + 1))).toMatchObject({ held: 4 });
  await at(holdEndsMs + DAY_MS);
  const later = dateOf(FIRST_DAY + DAYS + 2);
  expect(await upTo(later)).toMatchObject({ held: 0, balance: await balances() });
  const page = await read(`points/${points.id}?from=${today}&to=${later}`);
  expect(page.days.map(({ held }: { held: number }) => held)).toEqual([4, 4, 0]);
});

const valuesOf = async (key: string): Promise<string[]> => {
  const { attributes } = await read('segments');
  return attributes.find((attribute: { key: string }) => attribute.key === key).values;
};

const send = (user: string, attributes: Record<string, string>, key?: string) =>
  recorded('flips', { user: { id: user, attributes }, value: 1 }, key);

const newUsersOf = async (segment: string): Promise<number> =>
  (await read(`users?userAttributes=${encodeURIComponent(segment)}`)).newUsers;

test('the values of a user attribute are segments; one that only a deleted user had is forgotten', async () => {
  expect(await valuesOf('plan')).toEqual(PLANS.filter((plan) => sent.some((event) => event.plan === plan)));
  await send('only', { plan: 'rare' });
  expect(await valuesOf('plan')).toContain('rare');
  expect(await newUsersOf('plan:rare')).toBe(1);
  // A value with which others were counted stays, even if its first user leaves it and is deleted.
  await send('first', { plan: 'shared' });
  await send('second', { plan: 'shared' });
  await send('first', { plan: 'free' });
  await send('second', { plan: 'free' });
  expect(await newUsersOf('plan:shared')).toBe(2);
  expect((await laurel.admin.delete('/v1/users?ids=only,first')).status).toBe(200);
  await expect.poll(() => valuesOf('plan')).not.toContain('rare');
  expect(await newUsersOf('plan:rare')).toBe(0);
  expect(await newUsersOf('plan:shared')).toBe(2);
  // Among everyone the deleted users stay counted.
  const range = `from=${dateOf(FIRST_DAY)}&to=${dateOf(FIRST_DAY + DAYS + 2)}`;
  expect((await read(`users?${range}`)).newUsers).toBe(firstSeen.size + 3);
});

test('a user who sends many values takes one place of 50, and other values stay counted', async () => {
  const { key } = (await laurel.admin.post('/v1/application-api-keys', [{ userId: 'attacker' }])).body.created[0];
  await send('calm', { theme: 'dark' });
  for (let n = 0; n < 60; n += 1) await send('attacker', { theme: `invented ${n}` }, key);
  expect(await valuesOf('theme')).toEqual(['dark', 'invented 0']);
  await send('other', { theme: 'invented 7' });
  expect(await newUsersOf('theme:invented 7')).toBe(1);

  for (let n = 0; n < 60; n += 1) await send(`many-${n}`, { theme: `theme ${n}` });
  expect(await valuesOf('theme')).toHaveLength(50);
  const { attributes } = await read('segments');
  expect(attributes.map(({ isFull }: { isFull: boolean }) => isFull)).toEqual([false, false, true]);
  await send('late', { theme: 'dark' });
  expect(await newUsersOf('theme:dark')).toBe(2);
  expect(await newUsersOf('theme:theme 0')).toBe(1);
  expect(await newUsersOf('theme:theme 59')).toBe(0);
});

test('a question that makes no sense is refused, naming what is wrong', async () => {
  for (const [path, status, text] of [
    ['users?from=2038-02-30', 422, 'from'],
    ['users?to=2038-05-01&from=2038-05-02', 422, 'to is before from'],
    ['users?userAttributes=plan:pro&group=control', 422, 'one segment'],
    ['metrics?userAttributes=town:x', 422, 'unknown attribute'],
    ['metrics?from=2038-01-01&to=2038-02-01&days=true', 422, 'at most 31 days'],
    ['metrics/00000000-0000-7000-8000-000000000000', 404, 'Unknown metric'],
    ['engagement', 422, 'metricId'],
  ] as const) {
    const { status: answered, body } = await laurel.admin.get(`/v1/analytics/${path}`);
    expect([path, answered]).toEqual([path, status]);
    expect(body.error).toContain(text);
  }
});

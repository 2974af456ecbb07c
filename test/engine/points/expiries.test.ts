import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { FixedClock } from '../../../src/clock.ts';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { Publisher } from '../../../src/engine/notifications/due/publisher.ts';
import { createExpiries } from '../../../src/engine/points/expiries.ts';
import { Scripts } from '../../../src/engine/scripts.ts';
import { expiringSystems } from '../../../src/postgres/expiries.ts';
import type { TestLaurel } from '../../laurel.ts';
import { Listening } from '../notifications/listening.ts';
import { LiveClient } from '../../live/live-client.ts';
import { rebuildByHand } from '../rebuild/by-hand.ts';
import { differencesIn } from '../../differences.ts';
import type { ScheduledWork } from '../../../src/engine/schedule/due-work.ts';
import type { OnPieceFailed } from '../../../src/engine/schedule/pieces.ts';

const DAY = 86_400_000;
const START = Date.UTC(2030, 2, 1, 12);
const NEVER = new AbortController().signal;

/** A configuration whose coins can be spent for some days after the one on which they were earned. */
const shop = (expiresAfterDays: number | null): Configuration => ({
  metrics: [
    { key: 'work', name: 'Work' },
    { key: 'rent', name: 'Rent' },
  ],
  pointsSystems: [
    {
      key: 'coins',
      name: 'Coins',
      ...(expiresAfterDays !== null && { expiresAfterDays }),
      triggers: [
        { type: 'metric', metricKey: 'work', metricThreshold: 1, points: 1, status: 'active' },
        { type: 'metric', metricKey: 'rent', metricThreshold: 1, points: -1, status: 'active' },
      ],
      levels: [{ key: 'rich', name: 'Rich', points: 30 }],
    },
  ],
});

let listening: Listening;
let laurel: TestLaurel;
beforeEach(async () => {
  listening = await Listening.start('2030-03-01T12:00');
  laurel = listening.laurel;
});
afterEach(() => listening.close());

/** Sets the clock to noon of the nth day (0: the first), or to other hours after it, and does what is due. */
async function to(day: number, hours = 0): Promise<void> {
  const now = new Date(START + day * DAY + hours * 3_600_000).toISOString();
  expect(await laurel.admin.put('/v1/clock', { now })).toMatchObject({ status: 200 });
}
const configure = async (expiresAfterDays: number | null): Promise<void> =>
  expect(await laurel.admin.put('/v1/configuration', shop(expiresAfterDays))).toMatchObject({ status: 200 });
async function work(id: string, value: number, metric = 'work'): Promise<string> {
  const { status, body } = await laurel.app.post(`/v1/metrics/${metric}/event`, { user: { id }, value });
  expect(status).toBe(201);
  return body.eventId;
}
const post = (id: string, rest: string, body: object = {}) =>
  laurel.app.post(`/v1/users/${id}/points/coins/${rest}`, body, { headers: { 'Idempotency-Key': randomUUID() } });
async function points(id: string): Promise<[total: number, balance: number]> {
  const { status, body } = await laurel.app.get(`/v1/users/${id}/points/coins`);
  expect(status).toBe(200);
  return [body.total, body.balance];
}
/** What expired of a user's points: amount and balance after it, by falling balance, oldest first. */
async function expired(id: string): Promise<[number, number][]> {
  const { spendings } = (await laurel.admin.get(`/v1/users/${id}/spendings?limit=100`)).body;
  return spendings
    .filter(({ type, status }: { type: string; status: string }) => type === 'expire' && status === 'expired')
    .map(({ amount, balance }: { amount: number; balance: number }) => [amount, balance])
    .toReversed()
    .toSorted(([, a]: [number, number], [, b]: [number, number]) => b - a);
}
async function expectProven(): Promise<void> {
  const redis = await laurel.connect();
  const differences = await differencesIn({ redis, pool: laurel.pool });
  redis.disconnect();
  expect(differences).toEqual([]);
}

test('the oldest points expire first, are spent first, and the total stays; a rebuild restores it', async () => {
  await configure(10);
  await work('ada', 10);
  await work('bob', 10);
  await to(1);
  await work('ada', 20);
  await to(2);
  await work('ada', 5);
  expect((await post('ada', 'spend', { amount: 4 })).status).toBe(201);
  await to(10, 11);
  expect([await points('ada'), await points('bob')]).toEqual([
    [35, 31],
    [10, 10],
  ]);
  await to(11, -11);
  expect([await points('ada'), await points('bob')]).toEqual([
    [35, 25],
    [10, 0],
  ]);
  // A deduction takes the oldest points, too.
  await work('ada', 3, 'rent');
  await rebuild();
  await to(12);
  expect(await points('ada')).toEqual([32, 5]);
  await to(13);
  await to(20);
  expect(await points('ada')).toEqual([32, 0]);
  expect([await expired('ada'), await expired('bob')]).toEqual([
    [
      [6, 25],
      [17, 5],
      [5, 0],
    ],
    [[10, 0]],
  ]);
  expect((await post('ada', 'spend', { amount: 1 })).body).toMatchObject({ code: 'insufficient_balance', balance: 0 });
  const { entries } = (await laurel.admin.get('/v1/users/ada/timeline?kind=spending&limit=1')).body;
  expect(entries).toMatchObject([{ type: 'expire', amount: 5, balance: 0 }]);
  const exported = (await laurel.admin.get('/v1/users/bob/export')).body;
  expect(exported.spendings).toMatchObject([{ kind: 'expire', amount: 10 }]);
  // What has expired cannot be refunded.
  const [{ id }] = (await laurel.admin.get('/v1/users/bob/spendings')).body.spendings;
  expect((await post('bob', `spendings/${id}/refund`)).status).toBe(404);
  await expectProven();
});

async function rebuild(): Promise<void> {
  await expectProven();
  const before = [await points('ada'), await points('bob')];
  const redis = await laurel.connect();
  await rebuildByHand(laurel, redis);
  redis.disconnect();
  expect([await points('ada'), await points('bob')]).toEqual(before);
  await expectProven();
}

test('random histories: what expires is what is left of the oldest points', async () => {
  const days = 9;
  const afterDays = 2;
  await configure(afterDays);
  const percent = fc.constantFrom(0, 0, 30, 100);
  const day = fc.record({ earned: fc.constantFrom(0, 5, 11), spent: percent, taken: percent });
  const histories = fc.sample(fc.array(day, { minLength: days, maxLength: days }), 8);
  // The points of each user that are left, by the day on which they were earned.
  const users = histories.map((history, n) => ({ id: `user ${n}`, history, left: Array<number>(days).fill(0) }));
  const balanceOf = (left: readonly number[]): number => left.reduce((sum, one) => sum + one, 0);
  const live = async ({ id, history, left }: (typeof users)[number], today: number): Promise<void> => {
    if (today > afterDays) left[today - afterDays - 1] = 0;
    const { earned, spent, taken } = history[today]!;
    // A user who has nothing yet may be unknown.
    if (earned > 0 || today === 0) await work(id, earned);
    left[today] = earned;
    expect([id, today, (await points(id))[1]]).toEqual([id, today, balanceOf(left)]);
    for (const [share, use] of [
      [spent, (amount: number) => post(id, 'spend', { amount })],
      [taken, (amount: number) => work(id, amount, 'rent')],
    ] as const) {
      let amount = Math.floor((balanceOf(left) * share) / 100);
      if (amount > 0) await use(amount);
      for (let at = 0; at < days; at += 1) {
        const used = Math.min(amount, left[at]!);
        left[at]! -= used;
        amount -= used;
      }
    }
  };
  for (let today = 0; today < days; today += 1) {
    if (today > 0) await to(today);
    await Promise.all(users.map((user) => live(user, today)));
  }
  await expectProven();
});

test('after a downtime of days the missed days are done in order', async () => {
  await configure(1);
  await work('ada', 10);
  await to(1);
  await work('ada', 20);
  await to(2);
  expect(await points('ada')).toEqual([30, 20]);
  await work('ada', 5);
  await to(9);
  expect(await expired('ada')).toEqual([
    [10, 20],
    [20, 5],
    [5, 0],
  ]);
  await expectProven();
});

test('held points do not expire while they are held, and refunded ones do', async () => {
  await configure(2);
  await work('ada', 30);
  const { id } = (await post('ada', 'spend', { amount: 10 })).body;
  const held = (await post('ada', 'hold', { amount: 8, expiresIn: 20 * 86_400 })).body;
  await to(3);
  expect(await points('ada')).toEqual([30, 0]);
  expect((await post('ada', `spendings/${id}/refund`)).body).toMatchObject({ balance: 10 });
  expect((await post('ada', `holds/${held.id}/release`)).body).toMatchObject({ balance: 18 });
  await to(4);
  expect(await points('ada')).toEqual([30, 0]);
  expect(await expired('ada')).toEqual([
    [12, 0],
    [18, 0],
  ]);
  await expectProven();
});

test('a change of the field applies from the next day on', async () => {
  await configure(null);
  await work('ada', 10);
  await to(20);
  await work('ada', 5);
  await configure(5);
  await to(20, 11);
  expect(await points('ada')).toEqual([15, 15]);
  await to(21);
  expect(await points('ada')).toEqual([15, 5]);
  await configure(null);
  await to(40);
  expect(await expired('ada')).toEqual([[10, 5]]);
  expect(await expiringSystems(laurel.pool)).toEqual([]);
  await configure(365);
  await to(60);
  expect(await points('ada')).toEqual([15, 5]);
});

test('points are announced seven days before they expire, and when they have', async () => {
  await configure(10);
  const webhook = await listening.listen('points.expiring', 'points.expired');
  const messages = async () =>
    (await listening.messages(webhook)).map(({ at, user, payload: { type, expiry } }) => [at, type, user, expiry]);
  await work('ada', 10);
  await to(1);
  await work('ada', 20);
  expect((await post('ada', 'spend', { amount: 4 })).status).toBe(201);
  for (const day of [3, 4, 4.25, 5]) await to(day);
  expect(await messages()).toEqual([
    ['2030-03-05T00:00', 'points.expiring', 'ada', { amount: 6, balance: 26, date: '2030-03-12' }],
    ['2030-03-06T00:00', 'points.expiring', 'ada', { amount: 20, balance: 26, date: '2030-03-13' }],
  ]);
  for (const day of [11, 12]) await to(day);
  await listening.stored();
  expect((await messages()).filter(([, type]) => type === 'points.expired')).toEqual([
    ['2030-03-12T12:00', 'points.expired', 'ada', { amount: 6, balance: 20, date: '2030-03-12' }],
    ['2030-03-13T12:00', 'points.expired', 'ada', { amount: 20, balance: 0, date: '2030-03-13' }],
  ]);
});

test('the live stream of a user has both messages', async () => {
  await configure(10);
  await work('ada', 10);
  await work('bob', 5);
  const { key } = (await laurel.admin.post('/v1/application-api-keys', [{ userId: 'ada' }])).body.created[0];
  const { ticket } = (await laurel.app.post('/v1/live/tickets', {}, { key })).body;
  const client = await LiveClient.open(laurel.appUrl, { ticket });
  onTestFinished(() => client.close());
  await client.next('ready');
  await to(4);
  expect(await client.next('points.expiring')).toMatchObject({
    user: { id: 'ada' },
    expiry: { amount: 10, balance: 10, date: '2030-03-12' },
  });
  for (const day of [5, 11]) await to(day);
  expect(await client.next('points.expired')).toMatchObject({
    user: { id: 'ada' },
    expiry: { amount: 10, balance: 0, date: '2030-03-12' },
  });
  expect(client.messages.filter(({ user }) => user !== undefined && user.id !== 'ada')).toEqual([]);
});

test('imported points count as earned on the day of the import', async () => {
  await configure(3);
  const day = (n: number): string => new Date(START + n * DAY).toISOString().slice(0, 10);
  await to(10);
  const user = { id: 'ada', points: { coins: { total: 40, days: { [day(0)]: 10, [day(8)]: 30 } } } };
  const { body } = await laurel.admin.post('/v1/imports?import=past', [user]);
  expect(body.users).toMatchObject([{ id: 'ada', status: 'imported' }]);
  await to(13);
  expect(await points('ada')).toEqual([40, 40]);
  await to(14);
  expect(await points('ada')).toEqual([40, 0]);
});

test('two schedules at once and a crash before the record of progress change nothing', async () => {
  await configure(2);
  const users = Array.from({ length: 25 }, (_, n) => `user ${n}`);
  await Promise.all(users.map((id) => work(id, 10)));
  await to(1);
  await Promise.all(users.map((id) => work(id, 1)));
  const clock = new FixedClock(START + 3 * DAY);
  const { pool } = laurel;
  const kind = (): ScheduledWork => expiriesAt(clock);
  const nextDay = async (): Promise<number> => (await expiringSystems(pool))[0]!.day!;
  // The day's progress is lost after each page, as by a crash right after the changes.
  await pool.query(`
    CREATE FUNCTION crash() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'crashed'; END $$;
    CREATE TRIGGER crash BEFORE UPDATE ON expiry_progress FOR EACH ROW EXECUTE FUNCTION crash()`);
  const dueMs = Date.UTC(2030, 2, 4);
  const failures: unknown[] = [];
  const crashed = expiriesAt(clock, { onFailed: (failure) => failures.push(failure) });
  expect(await crashed.due(clock.now())).toBe(Date.UTC(2030, 2, 3));
  // A busy machine may end a piece of work before its first page.
  while (failures.length === 0) await crashed.perform(Date.UTC(2030, 2, 3), NEVER, dueMs, clock.now());
  expect(failures).toMatchObject([{ error: { message: 'crashed' } }]);
  expect(await nextDay()).toBe(Date.UTC(2030, 2, 3) / DAY);
  await pool.query('DROP TRIGGER crash ON expiry_progress');
  const both = [kind(), kind()];
  for (let next = await nextDay(); next * DAY <= clock.now(); next = await nextDay())
    await Promise.all(both.map((each) => each.perform(next * DAY, NEVER, next * DAY + 1, clock.now())));
  for (const id of users) expect([id, await points(id), await expired(id)]).toEqual([id, [11, 1], [[10, 1]]]);
  await expectProven();
});

test('a user who never stops changing does not keep the points of others from expiring', async () => {
  await configure(2);
  for (const id of ['ada', 'bob', 'eve']) await work(id, 10);
  await to(2);
  const clock = new FixedClock(START + 3 * DAY);
  const failures: unknown[] = [];
  const busy = expiriesAt(clock, {
    before: async (userId) => void (userId === 'bob' && (await work('bob', 1))),
    onFailed: (failure) => failures.push(failure),
  });
  const dueMs = Date.UTC(2030, 2, 4);
  // A busy machine may end a piece of work before it is complete.
  const isDue = async (): Promise<boolean> => (await busy.due(dueMs)) === dueMs;
  while (failures.length === 0 && (await isDue())) await busy.perform(dueMs, NEVER, dueMs + 1, clock.now());
  expect(failures).toEqual([]);
  expect([(await points('ada'))[1], (await points('eve'))[1]]).toEqual([0, 0]);
  expect(await expired('bob')).toEqual([]);
  await to(4);
  expect((await expired('bob')).map(([amount]) => amount)).toEqual([10]);
  await expectProven();
});

/** The work as another worker does it. `before`: called before each change of a balance. */
function expiriesAt(
  clock: FixedClock,
  { before, onFailed }: { before?: (userId: string) => Promise<void>; onFailed?: OnPieceFailed } = {},
): ScheduledWork {
  const { redis, pool, services } = laurel;
  const scripts = new Scripts({ redis, clock, onWritten: () => undefined });
  const callPart = scripts.callPart.bind(scripts);
  scripts.callPart = async (part, call) => {
    const { keys } = call.keysAndArgs({ nowMs: clock.now(), retryPosition: '' });
    if (call.script.file === 'read') await before?.(keys.find((key) => key.includes(':u:'))!.split(':u:')[1]!);
    return callPart(part, call);
  };
  const publisher = new Publisher({ redis, pool, catalogs: services.catalogs });
  return createExpiries({ redis, scripts, clock, publisher, atOnce: 10, ...(onFailed && { onFailed }) });
}

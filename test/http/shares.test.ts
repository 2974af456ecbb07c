import { setTimeout as sleep } from 'node:timers/promises';
import { Type } from 'typebox';
import { expect, onTestFinished, test, vi } from 'vitest';
import { callerLimits } from '../../src/http/access/rate-limit.ts';
import { OverShare, Shares } from '../../src/http/access/shares.ts';
import { operation, type Caller } from '../../src/operations/operation.ts';
import { inOwnTurn, nextTurn, noCost } from '../../src/pacing/turns.ts';
import { startServer, USER_KEY } from './server-fixture.ts';

const user = (userId: string, prefix = `app_${userId}`, rateLimit: number | null = null): Caller => ({
  kind: 'application',
  prefix,
  userId,
  tenantNo: 0,
  scope: 'all',
  rateLimit,
});
const ADMIN: Caller = { kind: 'admin', prefix: 'adm', userId: null, tenantNo: null, scope: 'all', rateLimit: null };

/** Shares with a clock that the test sets. */
function sharesAt(applicationPerSecond = 50) {
  const clock = { ms: 1_000 };
  const limitOf = callerLimits({ applicationPerSecond, adminPerSecond: 0 });
  return { shares: new Shares({ limitOf, nowMs: () => clock.ms }), clock };
}

/** Shares whose clock stands still, so that no use is paid for, however slow the machine. */
const unpaidShares = (): Shares => sharesAt().shares;

const retryAfter = (work: () => void): number | null => {
  try {
    work();
    return null;
  } catch (error) {
    expect(error).toBeInstanceOf(OverShare);
    return Number((error as OverShare).headers['Retry-After']);
  }
};

test('a user may use 500 ms at once and a twentieth of the time; a refusal says when there is time again', () => {
  const { shares, clock } = sharesAt();
  const ada = shares.of(user('ada'), 0);
  ada.charge(500);
  expect(retryAfter(() => ada.requireTime())).toBeNull();
  ada.charge(100);
  expect(retryAfter(() => ada.requireTime())).toBe(2);
  expect(retryAfter(() => shares.of(user('bob'), 0).requireTime())).toBeNull();
  clock.ms += 1_999;
  expect(retryAfter(() => ada.requireTime())).toBe(1);
  clock.ms += 1;
  expect(retryAfter(() => ada.requireTime())).toBeNull();
  clock.ms += 10_000;
  ada.charge(500);
  expect(retryAfter(() => ada.requireTime())).toBeNull();
  // However long one request took, the user waits for less than a minute.
  ada.charge(1_000_000);
  expect(retryAfter(() => ada.requireTime())).toBe(50);
});

test('a user pays for what storing its changes will take, which is not the time of its tenant', () => {
  const { shares, clock } = sharesAt();
  const ada = shares.of(user('ada'), 0);
  const operation = { cost: noCost(), billed: 5 };
  // 20 KB are charged 4.2 ms each time, so 500 ms are used after 119 changes.
  for (let n = 0; n < 119; n += 1) ada.bill(operation).wroteState(20_000);
  expect(operation.cost.storageMs).toBeCloseTo(119 * 4.2);
  expect(retryAfter(() => ada.requireTime())).toBeNull();
  for (let n = 0; n < 12; n += 1) ada.bill(operation).wroteState(20_000);
  expect(retryAfter(() => ada.requireTime())).toBe(2);
  shares.note(1, clock.ms);
  shares.note(0, clock.ms);
  for (let n = 0; n < 1_000; n += 1) ada.bill(operation).wroteState(20_000);
  expect(shares.isAtOnce(ADMIN, 0, clock.ms)).toBe(true);
  shares.of(ADMIN, 0).bill(operation).wroteState(1_000_000);
  expect(retryAfter(() => shares.of(ADMIN, 0).requireRoom())).toBeNull();
});

test('five changes a second of a large state, of 5 ms each, are never refused', () => {
  const { shares, clock } = sharesAt();
  const ada = shares.of(user('ada'), 0);
  for (let n = 0; n < 1_000; n += 1) {
    expect(retryAfter(() => ada.requireTime())).toBeNull();
    const bill = ada.bill({ cost: noCost(), billed: 5 });
    bill.ranFor(5);
    bill.wroteState(20_000);
    clock.ms += 200;
  }
});

test('the keys of a user share an account; a key with its own limit has its own, in proportion, and without a limit none', () => {
  const { shares } = sharesAt();
  shares.of(user('ada', 'app_1'), 0).charge(1_000);
  expect(retryAfter(() => shares.of(user('ada', 'app_2'), 0).requireTime())).not.toBeNull();
  const own = shares.of(user('ada', 'app_3', 500), 0);
  own.charge(1_000);
  // Half of the time: the 500 ms beyond the burst are paid in a second.
  expect(retryAfter(() => own.requireTime())).toBe(1);
  for (const unlimited of [user('ada', 'app_4', 0), ADMIN]) {
    shares.of(unlimited, 0).charge(1_000_000);
    expect(retryAfter(() => shares.of(unlimited, 0).requireRoom())).toBeNull();
  }
  const { shares: without } = sharesAt(0);
  without.of(user('ada'), 0).charge(1_000_000);
  expect(retryAfter(() => without.of(user('ada'), 0).requireTime())).toBeNull();
});

test('an account is kept until its debt is paid, however many other users come', () => {
  const { shares, clock } = sharesAt();
  shares.of(user('ada'), 0).charge(1_000_000);
  for (let s = 0; s < 49; s += 1) {
    clock.ms += 1_000;
    for (let no = 0; no < 100; no += 1) shares.of(user(`${s}-${no}`), 0);
  }
  expect(retryAfter(() => shares.of(user('ada'), 0).requireTime())).toBe(1);
});

test('the events of a tenant that used more than half of the time wait only while other tenants send requests', () => {
  const { shares, clock } = sharesAt();
  shares.note(0, clock.ms);
  clock.ms += 2_000;
  shares.of(ADMIN, 0).charge(5_000);
  expect(shares.isAtOnce(ADMIN, 0, clock.ms)).toBe(true);
  shares.note(1, clock.ms);
  expect([shares.isAtOnce(ADMIN, 0, clock.ms), shares.isAtOnce(ADMIN, 1, clock.ms)]).toEqual([false, true]);
  // The debt of a tenant is small: it is paid within a second.
  clock.ms += 1_000;
  expect(shares.isAtOnce(ADMIN, 0, clock.ms)).toBe(true);
});

test('a user whose requests took too much time gets 429 with Retry-After; others, and admin keys, do not', async () => {
  const busy = operation('busy', 'GET /v1/busy', {
    summary: 'Computes for half a second',
    responses: { 200: Type.Object({}) },
    handle: async () => {
      for (let no = 0; no < 270; no += 1) {
        const untilMs = performance.now() + 2;
        while (performance.now() < untilMs);
        await nextTurn();
      }
      return { status: 200, body: {} };
    },
  });
  const { server, client } = await startServer({ more: [busy], shares: unpaidShares() });
  onTestFinished(() => server.close());
  const send = (key?: string) => client.get('/v1/busy', key === undefined ? {} : { key });
  // The first requests of an operation are free.
  for (let no = 0; no < 5; no += 1) expect((await send()).status).toBe(200);
  expect((await send(USER_KEY)).status).toBe(200);
  const refused = await send(USER_KEY);
  expect(refused).toMatchObject({ status: 429, body: { code: 'too_many_requests' } });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  for (let no = 0; no < 2; no += 1) expect((await send()).status).toBe(200);
});

test('events that cost much more than others wait or get 429 once the user has used its share; those of others do not', async () => {
  const event = operation('costly', 'GET /v1/costly', {
    summary: 'Writes a very large state',
    responses: { 200: Type.Object({}) },
    runsAtOnce: () => true,
    handle: async (_, call) => {
      call.stateBytes = 10_000_000;
      return { status: 200, body: {} };
    },
  });
  const { server, client } = await startServer({ more: [event], shares: unpaidShares() });
  onTestFinished(() => server.close());
  const send = (key?: string) => client.get('/v1/costly', key === undefined ? {} : { key });
  expect((await send(USER_KEY)).status).toBe(200);
  const refused = await send(USER_KEY);
  expect(refused).toMatchObject({ status: 429, body: { code: 'too_many_requests' } });
  // Two seconds of work, half a second of it in advance, at a twentieth of the time.
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  for (let no = 0; no < 3; no += 1) expect((await send()).status).toBe(200);
});

test('only the user whose events used up its share is held back, until that is paid for', () => {
  const { shares, clock } = sharesAt();
  shares.chargeEvent(user('ada'), 0, 400);
  expect(shares.isAtOnce(user('ada'), 0, clock.ms)).toBe(true);
  shares.chargeEvent(user('ada'), 0, 200);
  const atOnce = (): boolean[] => ['ada', 'bob'].map((id) => shares.isAtOnce(user(id), 0, clock.ms));
  expect(atOnce()).toEqual([false, true]);
  clock.ms += 2_000;
  expect(atOnce()).toEqual([true, true]);
  shares.chargeEvent(ADMIN, 0, 1_000_000);
  expect(shares.isAtOnce(ADMIN, 0, clock.ms)).toBe(true);
});

test('of many costly requests of a user that are sent together, one begins', async () => {
  let begun = 0;
  const busy = operation('busy', 'GET /v1/busy', {
    summary: 'Computes for half a second, and waits',
    responses: { 200: Type.Object({}) },
    handle: async () => {
      begun += 1;
      const untilMs = performance.now() + 600;
      while (performance.now() < untilMs);
      await sleep(10);
      return { status: 200, body: {} };
    },
  });
  const { server, client } = await startServer({ more: [busy], shares: unpaidShares() });
  onTestFinished(() => server.close());
  for (let no = 0; no < 5; no += 1) await client.get('/v1/busy');
  begun = 0;
  const answers = await Promise.all(Array.from({ length: 20 }, () => client.get('/v1/busy', { key: USER_KEY })));
  const statuses = answers.map(({ status }) => status);
  expect(begun).toBe(1);
  expect(statuses.toSorted((a, b) => a - b)).toEqual([200, ...Array<number>(19).fill(429)]);
});

test('four requests of a user run at a time, and one while it has used much; none is refused within its share', async () => {
  // Requests take no time: if the process stands still during a turn, the user does not pay for that.
  const now = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  onTestFinished(() => now.mockRestore());
  const shares = unpaidShares();
  let [running, most] = [0, 0];
  let released = Promise.resolve();
  const waiting = operation('waiting', 'GET /v1/waiting', {
    summary: 'Waits',
    responses: { 200: Type.Object({}) },
    handle: async () => {
      running += 1;
      most = Math.max(most, running);
      await inOwnTurn(released);
      running -= 1;
      return { status: 200, body: {} };
    },
  });
  const { server, client } = await startServer({ more: [waiting], shares });
  onTestFinished(() => server.close());
  /** Sends ten, which run until `expected` of them do. Returns how many ran at a time. */
  const mostOfTen = async (expected: number): Promise<number> => {
    most = 0;
    let release = (): void => undefined;
    released = new Promise((resolve) => (release = resolve));
    const sent = Promise.all(Array.from({ length: 10 }, () => client.get('/v1/waiting', { key: USER_KEY })));
    await expect.poll(() => running).toBe(expected);
    release();
    const answers = await sent;
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    return most;
  };
  expect(await mostOfTen(4)).toBe(4);
  shares.of(user('ada'), 0).charge(300);
  expect(await mostOfTen(1)).toBe(1);
});

import { describe, expect, onTestFinished, test } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { createFileLimit, createRateLimit, type RateLimit } from '../../src/http/access/rate-limit.ts';
import { NOBODY, type Caller } from '../../src/operations/operation.ts';
import { startLaurel } from '../laurel.ts';
import { ADMIN_KEY, startServer, USER_KEY } from './server-fixture.ts';

const user = (userId: string, prefix = `app_${userId}`, rateLimit: number | null = null): Caller => ({
  kind: 'application',
  prefix,
  userId,
  tenantNo: 0,
  scope: 'all',
  rateLimit,
});
const ADMIN: Caller = { kind: 'admin', prefix: 'adm', userId: null, tenantNo: null, scope: 'all', rateLimit: null };

describe('the count', () => {
  test('a quiet caller may make four seconds of requests at once, then the limit per second', () => {
    let nowMs = 1_000_000;
    const limit = createRateLimit({ applicationPerSecond: 10, adminPerSecond: 0 }, undefined, () => nowMs);
    const admitted = (): number => {
      for (let n = 0; ; n++) {
        try {
          limit(user('ada'));
        } catch {
          return n;
        }
      }
    };
    expect(admitted()).toBe(40);
    nowMs += 99;
    expect(admitted()).toBe(0);
    nowMs += 1;
    expect(admitted()).toBe(1);
    nowMs += 1_000;
    expect(admitted()).toBe(10);
    nowMs += 3_600_000;
    expect(admitted()).toBe(40);
  });

  test('the headers say how much is left, and a refusal says when to retry', () => {
    let nowMs = 0;
    const limits = { applicationPerSecond: 1, adminPerSecond: 0 };
    const limit = createRateLimit(
      limits,
      undefined,
      () => nowMs,
      () => 1_790_000_000_000 + nowMs,
    );
    expect(limit(user('ada'))).toEqual({
      'X-RateLimit-Limit': '4',
      'X-RateLimit-Remaining': '3',
      'X-RateLimit-Reset': '1790000001',
    });
    nowMs = 250;
    expect(limit(user('ada'))).toMatchObject({ 'X-RateLimit-Remaining': '2' });
    limit(user('ada'));
    expect(limit(user('ada'))).toMatchObject({ 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '1790000004' });
    let refused: unknown;
    try {
      limit(user('ada'));
    } catch (error) {
      refused = error;
    }
    expect(refused).toBeInstanceOf(AppError);
    expect(refused).toMatchObject({ status: 429, headers: { 'Retry-After': '1', 'X-RateLimit-Remaining': '0' } });
    nowMs += 1_000;
    expect(limit(user('ada'))).not.toBeNull();
  });

  const admittedOf = (limit: RateLimit, caller: Caller): number => {
    for (let n = 0; n < 1_000; n++) {
      try {
        limit(caller);
      } catch {
        return n;
      }
    }
    return Infinity;
  };

  test('counts callers separately: a user with all keys, an admin key; callers without a limit are not counted', () => {
    const limit = createRateLimit({ applicationPerSecond: 1, adminPerSecond: 0 }, undefined, () => 0);
    for (let n = 0; n < 4; n++) limit(user('ada', `app_${n}`));
    expect(() => limit(user('ada', 'app_other'))).toThrow(AppError);
    expect(limit(user('bob'))).not.toBeNull();
    expect(limit({ ...user('ada'), tenantNo: 1 })).not.toBeNull();
    for (let n = 0; n < 100; n++) expect([limit(ADMIN), limit(NOBODY)]).toEqual([null, null]);
  });

  test("a key's own limit precedes the organisation's, and that precedes the installation's; 0 is unlimited", () => {
    let organisation: number | null = null;
    const limits = { applicationPerSecond: 5, adminPerSecond: 0 };
    const limit = createRateLimit(
      limits,
      () => organisation,
      () => 0,
    );
    expect(admittedOf(limit, user('ada'))).toBe(20);
    expect(admittedOf(limit, user('ada', 'app_own', 2))).toBe(8);
    expect(admittedOf(limit, user('ada', 'app_free', 0))).toBe(Infinity);
    organisation = 10;
    expect(admittedOf(limit, user('bob'))).toBe(40);
    organisation = 0;
    expect(admittedOf(limit, user('bob'))).toBe(Infinity);
    expect(admittedOf(limit, user('bob', 'app_own_b', 3))).toBe(12);
  });

  test('a forgotten caller owed nothing, and one who owes is not forgotten', () => {
    let nowMs = 0;
    const limit = createRateLimit({ applicationPerSecond: 1, adminPerSecond: 0 }, undefined, () => nowMs);
    // Drops old entries at 4,000, 8,000 and so on.
    limit(user('clock'));
    for (let ms = 0; ms <= 40_000; ms += 500) {
      nowMs = ms;
      limit(user(`other-${ms}`));
      const admitted = admittedOf(limit, user('ada'));
      expect([ms, admitted]).toEqual([ms, ms === 0 ? 4 : ms % 1_000 === 0 ? 1 : 0]);
    }
  });

  test('counts nothing without limits', () => {
    const limit = createRateLimit({ applicationPerSecond: 0, adminPerSecond: 0 });
    expect([limit(user('ada')), limit(ADMIN)]).toEqual([null, null]);
    expect(createFileLimit(0)).toBeUndefined();
  });
});

test('the Admin API sets limits of a key and of the organisation, which apply at once', async () => {
  const laurel = await startLaurel({ rateLimits: { applicationPerSecond: 50 } });
  onTestFinished(() => laurel.close());
  const make = async (item: object) => (await laurel.admin.post('/v1/application-api-keys', [item])).body.created[0];
  const limitOf = async (key: string) =>
    (await laurel.app.get('/v1/users/ada', { key })).headers.get('x-ratelimit-limit');
  const plain = await make({ userId: 'ada' });
  const own = await make({ userId: 'ada', rateLimit: 7 });
  const free = await make({ userId: 'ada', rateLimit: 0 });
  expect([plain.rateLimit, own.rateLimit, free.rateLimit]).toEqual([undefined, 7, 0]);
  const listed = (await laurel.admin.get('/v1/application-api-keys')).body;
  expect(listed.map(({ rateLimit }: { rateLimit: unknown }) => rateLimit)).toEqual([null, 7, 0]);
  expect([await limitOf(plain.key), await limitOf(own.key), await limitOf(free.key)]).toEqual(['200', '28', null]);
  for (const [rateLimit, limit] of [
    [10, '40'],
    [0, null],
    [null, '200'],
  ] as const) {
    const { body } = await laurel.admin.patch('/v1/organisation', { rateLimit });
    expect(body.rateLimit).toBe(rateLimit);
    // What is not sent stays.
    expect((await laurel.admin.patch('/v1/organisation', { name: 'Laurel' })).body.rateLimit).toBe(rateLimit);
    expect([rateLimit, await limitOf(plain.key), await limitOf(own.key)]).toEqual([rateLimit, limit, '28']);
  }
  expect((await laurel.admin.patch('/v1/organisation', { rateLimit: -1 })).status).toBe(400);
});

test('over HTTP: 429 with its headers for a flooding caller, and no change for others', async () => {
  const { client, server } = await startServer({
    rateLimit: createRateLimit({ applicationPerSecond: 1, adminPerSecond: 0 }),
  });
  const asUser = () => client.get('/v1/people/ada', { key: USER_KEY });
  const answers = await Promise.all(Array.from({ length: 40 }, asUser));
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(20);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(40 - refused.length);
  expect(refused[0]!.body).toEqual({
    error: 'Too many requests; try again after the time in Retry-After',
    code: 'too_many_requests',
  });
  expect(refused[0]!.headers.get('retry-after')).toBe('1');
  expect(refused[0]!.headers.get('x-ratelimit-limit')).toBe('4');
  const first = answers.find(({ status }) => status === 200)!;
  expect(first.headers.get('x-ratelimit-remaining')).toMatch(/^[0-3]$/);
  const other = await client.get('/v1/people/ada', { key: ADMIN_KEY });
  expect([other.status, other.headers.get('x-ratelimit-limit')]).toEqual([200, null]);
  server.close();
});

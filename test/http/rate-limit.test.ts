import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { createRateLimit } from '../../src/http/rate-limit.ts';
import { NOBODY, type Caller } from '../../src/operations/operation.ts';
import { ADMIN_KEY, startServer, USER_KEY } from './server-fixture.ts';

const user = (userId: string, prefix = `app_${userId}`): Caller => ({
  kind: 'application',
  prefix,
  userId,
  tenantNo: 0,
  scope: 'all',
});
const ADMIN: Caller = { kind: 'admin', prefix: 'adm', userId: null, tenantNo: null, scope: 'all' };

describe('the count', () => {
  test('a quiet caller may make two seconds of requests at once, then so many a second', () => {
    let nowMs = 1_000_000;
    const limit = createRateLimit({ applicationPerSecond: 10, adminPerSecond: null }, () => nowMs)!;
    const admitted = (): number => {
      for (let n = 0; ; n++) {
        try {
          limit(user('ada'));
        } catch {
          return n;
        }
      }
    };
    expect(admitted()).toBe(20);
    nowMs += 99;
    expect(admitted()).toBe(0);
    nowMs += 1;
    expect(admitted()).toBe(1);
    nowMs += 1_000;
    expect(admitted()).toBe(10);
    nowMs += 3_600_000;
    expect(admitted()).toBe(20);
  });

  test('the headers say how much is left, and a refusal when to come again', () => {
    let nowMs = 0;
    const limits = { applicationPerSecond: 1, adminPerSecond: null };
    const limit = createRateLimit(
      limits,
      () => nowMs,
      () => 1_790_000_000_000 + nowMs,
    )!;
    expect(limit(user('ada'))).toEqual({
      'RateLimit-Limit': '2',
      'RateLimit-Remaining': '1',
      'RateLimit-Reset': '1',
      'X-RateLimit-Reset': '1790000001',
    });
    nowMs = 250;
    expect(limit(user('ada'))).toMatchObject({ 'RateLimit-Remaining': '0', 'RateLimit-Reset': '2' });
    let refused: unknown;
    try {
      limit(user('ada'));
    } catch (error) {
      refused = error;
    }
    expect(refused).toBeInstanceOf(AppError);
    expect(refused).toMatchObject({ status: 429, headers: { 'Retry-After': '1', 'RateLimit-Remaining': '0' } });
    nowMs += 1_000;
    expect(limit(user('ada'))).not.toBeNull();
  });

  test('callers are counted by themselves: a user with all keys, an admin key; who has no limit is not', () => {
    const limit = createRateLimit({ applicationPerSecond: 1, adminPerSecond: null }, () => 0)!;
    for (let n = 0; n < 2; n++) limit(user('ada', `app_${n}`));
    expect(() => limit(user('ada', 'app_other'))).toThrow(AppError);
    expect(limit(user('bob'))).not.toBeNull();
    expect(limit({ ...user('ada'), tenantNo: 1 })).not.toBeNull();
    for (let n = 0; n < 100; n++) expect([limit(ADMIN), limit(NOBODY)]).toEqual([null, null]);
  });

  test('without limits there is nothing to count', () => {
    expect(createRateLimit({ applicationPerSecond: null, adminPerSecond: null })).toBeUndefined();
  });
});

test('over HTTP: 429 with its headers for the one who floods, and nothing changes for others', async () => {
  const { client, server } = await startServer({
    rateLimit: createRateLimit({ applicationPerSecond: 2, adminPerSecond: null }),
  });
  const asUser = () => client.get('/v1/people/ada', { key: USER_KEY });
  const answers = await Promise.all(Array.from({ length: 40 }, asUser));
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(20);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(40 - refused.length);
  expect(refused[0]!.body).toEqual({ error: 'Too many requests; try again after the time in Retry-After' });
  expect(refused[0]!.headers.get('retry-after')).toBe('1');
  expect(refused[0]!.headers.get('ratelimit-limit')).toBe('4');
  const first = answers.find(({ status }) => status === 200)!;
  expect(first.headers.get('ratelimit-remaining')).toMatch(/^[0-3]$/);
  const other = await client.get('/v1/people/ada', { key: ADMIN_KEY });
  expect([other.status, other.headers.get('ratelimit-limit')]).toEqual([200, null]);
  server.close();
});

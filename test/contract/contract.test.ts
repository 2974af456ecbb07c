import { describe, expect, test } from 'vitest';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { checkAnswer, contractOperation, contractOperations, refusalOfRead } from './contract.ts';

const admin = { surface: 'admin', method: 'get', path: '/v1/tenants/{id}', status: 200 } as const;
const tenant = {
  id: '0191d6f0-0000-7000-8000-000000000001',
  customerId: 'c',
  name: 'n',
  status: 'active',
  created: '2026-01-01T00:00:00.000Z',
  updated: '2026-01-01T00:00:00.000Z',
};

test('only the contract’s operations of the Application API ignore unknown query parameters', () => {
  for (const { id, file, deprecated, method, path, refusesUnknownQuery } of applicationOperations) {
    // A deprecated operation belongs to an earlier version of the contract.
    const isAddition = file === null && !deprecated && contractOperation('application', method, path) === undefined;
    expect([id, refusesUnknownQuery]).toEqual([id, isAddition]);
  }
  for (const { id, file, refusesUnknownQuery } of adminOperations)
    expect([id, refusesUnknownQuery]).toEqual([id, file === null]);
});

test('Laurel knows every query parameter of the contract’s operations that refuse unknown ones', () => {
  const declared = adminOperations.flatMap(({ method, path, query }) =>
    (contractOperation('admin', method, path)?.parameters ?? [])
      .filter((parameter) => parameter.in === 'query')
      .map(({ name }) => ({ at: `${method} ${path}?${name}`, isKnown: Object.hasOwn(query?.properties ?? {}, name) })),
  );
  expect(declared.length).toBeGreaterThan(20);
  expect(declared.filter(({ isKnown }) => !isKnown)).toEqual([]);
});

describe('errors', () => {
  const path = { surface: 'admin', method: 'get', path: '/v1/ours' } as const;

  test('must be {error: text, code}, with a status that Laurel uses', () => {
    checkAnswer({ ...path, status: 404, body: { error: 'Not found', code: 'not_found' } });
    expect(() => checkAnswer({ ...path, status: 404, body: { error: 'Not found' } })).toThrow('with the code');
    expect(() => checkAnswer({ ...path, status: 404, body: { error: 'x', code: 'invalid' } })).toThrow('with the code');
    expect(() => checkAnswer({ ...path, status: 404, body: {} })).toThrow('without {"error": text}');
    expect(() => checkAnswer({ ...path, status: 404, body: null })).toThrow('without {"error": text}');
    expect(() => checkAnswer({ ...path, status: 418, body: { error: 'Tea' } })).toThrow('no status of ours');
  });
});

describe('the contract', () => {
  test('has both APIs', () => {
    expect(contractOperations('application')).toContainEqual({ method: 'post', path: '/v1/metrics/{key}/event' });
    expect(contractOperations('admin')).toContainEqual({ method: 'delete', path: '/v1/application-api-keys' });
  });

  test('accepts an answer that fits', () => {
    expect(() => checkAnswer({ ...admin, body: tenant })).not.toThrow();
  });

  test.each([
    ['a field is missing', { ...tenant, customerId: undefined }],
    ['a type is wrong', { ...tenant, name: 7 }],
    ['a format is wrong', { ...tenant, created: 'yesterday' }],
  ])('refuses an answer in which %s', (_what, body) => {
    expect(() => checkAnswer({ ...admin, body })).toThrow('does not fit the contract');
  });

  test('checks an unlisted success status against a listed one', () => {
    const event = { surface: 'application', method: 'post', path: '/api/metrics/{key}/event', status: 202 } as const;
    expect(() => checkAnswer({ ...event, body: {} })).toThrow('does not fit the contract');
  });
});

describe('a source that enforces the limits of the contract', () => {
  const summary = '/v1/users/a%2Fb/metrics/flips/event-summary?aggregation=daily';
  test.each([
    ['/v1/users/a%2Fb/nothing', 404],
    ['/users/a', 404],
    [`${summary}&startDate=2026-01-01`, 422],
    [`${summary}&startDate=2026-01-01&endDate=2026-01-32`, 422],
    [`${summary}&startDate=2026-01-02&endDate=2026-01-01`, 422],
    [`${summary}&startDate=2025-01-01&endDate=2026-02-05`, 422],
    [`${summary.replace('daily', 'yearly')}&startDate=2026-01-01&endDate=2026-01-02`, 422],
    ['/v1/users/a/points/xp?awards=101', 422],
    ['/v1/users/a/streak?historyPeriods=7.5', 422],
    ['/v1/users/a/streak?periods=7', 422],
    [`${summary}&startDate=2025-01-01&endDate=2026-02-04`, undefined],
    ['/v1/users/a/points/xp?awards=100', undefined],
  ])('%s: %s', (url, status) => expect(refusalOfRead(url)?.status).toBe(status));
});

import { beforeAll, describe, expect, test } from 'vitest';
import { adminOperations } from '../../../src/operations/index.ts';
import type { Operation } from '../../../src/operations/operation.ts';
import { startLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { opened } from '../../stack/opened.ts';

// Rules for every operation of the Admin API.

let systemId: string;

const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));
beforeAll(async () => {
  systemId = (await laurel.admin.get('/v1/points')).body[0].id;
});

const uuid = (no: number): string => `00000000-0000-7000-8000-${String(no).padStart(12, '0')}`;
const pathOf = ({ path }: Operation): string =>
  path.replace('{systemId}', systemId).replace('{id}', uuid(0)).replace('{provider}', 'expo');
const send = (operation: Operation, query = '', sent = {}) =>
  laurel.admin.send(operation.method.toUpperCase(), pathOf(operation) + query, sent);

const named = (operations: Operation[]): [string, Operation][] => operations.map((one) => [one.id, one]);
const parameters = ({ query }: Operation): string[] => Object.keys(query?.properties ?? {});
const bodyOf = ({ body }: Operation): { type?: string; maxItems?: number } => (body ?? {}) as object;

const lists = adminOperations.filter((one) => parameters(one).includes('limit') && parameters(one).includes('skip'));
// Users to be imported bring their own IDs: `imports/create.test.ts`.
const bulks = adminOperations.filter(
  (one) => bodyOf(one).type === 'array' && bodyOf(one).maxItems === 100 && one.id !== 'admin_imports_create',
);
const deletions = adminOperations.filter((one) => one.method === 'delete' && parameters(one).includes('ids'));
// Without a test clock there is no clock to set.
const withBody = adminOperations.filter(({ id, body }) => body !== null && !id.startsWith('admin_clock_'));

test('finds operations', () => {
  expect(lists.length).toBeGreaterThanOrEqual(10);
  expect(bulks.length).toBeGreaterThanOrEqual(19);
  expect(deletions.length).toBeGreaterThanOrEqual(10);
});

describe.each(named(lists))('%s', (_id, operation) => {
  test('pages within bounds, 10 by default', async () => {
    for (const [query, name] of [
      ['?limit=0', 'limit'],
      ['?limit=101', 'limit'],
      ['?limit=1.5', 'limit'],
      ['?limit=', 'limit'],
      ['?skip=-1', 'skip'],
      ['?skip=x', 'skip'],
      ['?limit=1&limit=2', 'limit'],
    ] as const) {
      const { status, body } = await send(operation, query);
      expect([query, status, body.error]).toEqual([query, 422, expect.stringContaining(name)]);
    }
    for (const query of ['', '?limit=1', '?limit=100&skip=0', '?skip=999999'])
      expect([query, (await send(operation, query)).status]).toEqual([query, 200]);
    expect((await send(operation)).body.length).toBeLessThanOrEqual(10);
    expect((await send(operation, '?skip=999999')).body).toEqual([]);
  });
});

describe.each(named(withBody))('%s', (_id, operation) => {
  test('accepts JSON only', async () => {
    const query = operation.id === 'admin_imports_create' ? '?import=walk' : '';
    expect((await send(operation, query, { rawBody: '[{"name":' })).status).toBe(400);
    const headers = { 'Content-Type': 'text/plain' };
    expect((await send(operation, query, { rawBody: '[]', headers })).status).toBe(415);
  });
});

describe.each(named(bulks))('%s', (_id, operation) => {
  test('accepts an array of 1 to 100; a bad item is an issue with its index', async () => {
    for (const body of [[], Array.from({ length: 101 }, () => ({})), {}, 'x', 1, null]) {
      const { status, body: answer } = await send(operation, '', { body });
      expect([status, answer.error]).toEqual([422, expect.stringMatching(/\S/)]);
    }
    const items = [null, 7, {}, { id: 'no-uuid' }, { id: uuid(1), name: 1, customerId: 1 }];
    const { status, body } = await send(operation, '', { body: items });
    expect(status).toBe(200);
    const which = body.issues.map(({ id, index }: { id?: string; index?: number }) => id ?? index);
    const ids = operation.method === 'patch' ? ['no-uuid', uuid(1)] : [3, 4];
    expect(which).toEqual([0, 1, 2, ...ids]);
    for (const { severity, message, level, reason } of body.issues) {
      expect([severity, message.length > 5]).toEqual(['error', true]);
      expect([level, reason]).toEqual([severity, message]);
    }
    expect(Object.values(body).find((list) => list !== body.issues)).toEqual([]);
  });

  test('a hundred bad items are a hundred issues', async () => {
    const { body } = await send(operation, '', { body: Array.from({ length: 100 }, () => ({})) });
    expect(body.issues.map(({ index }: { index: number }) => index)).toEqual([...Array.from({ length: 100 }).keys()]);
  });
});

describe.each(named(deletions))('%s', (_id, operation) => {
  const asked = async (query: string): Promise<unknown[]> => {
    const { status, body } = await send(operation, query);
    expect([query.slice(0, 50), status]).toEqual([query.slice(0, 50), 200]);
    expect(body.deleted).toEqual([]);
    return body.issues.map((issue: { id?: string; userId?: string }) => issue.id ?? issue.userId);
  };

  test('accepts a hundred IDs repeated, comma-separated, or both, each once', async () => {
    const three = [uuid(1), uuid(2), uuid(3)];
    expect(await asked(`?ids=${three.join(',')}`)).toEqual(three);
    expect(await asked(`?ids=${three.join('&ids=')}`)).toEqual(three);
    expect(await asked(`?ids=${three[0]}&ids=${three[1]},${three[2]}&ids=${three[0]}`)).toEqual(three);
    const hundred = Array.from({ length: 100 }, (_, no) => uuid(no + 1));
    expect(await asked(`?ids=${hundred.join('&ids=')}`)).toEqual(hundred);
    expect(await asked(`?${hundred.map((id) => `ids%5B%5D=${id}`).join('&')}`)).toEqual(hundred);
  });

  test('without any ID it is 422, which names ids', async () => {
    for (const query of ['', '?ids', '?ids=', '?ids=,', '?ids=&ids='])
      expect([query, await send(operation, query)]).toMatchObject([
        query,
        { status: 422, body: { error: expect.stringMatching(/^ids/) } },
      ]);
  });
});

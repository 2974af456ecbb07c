import type { QueryConfig } from 'pg';
import { beforeAll, expect, test } from 'vitest';
import {
  type FoundUser,
  listQuery,
  listUsers,
  searchQuery,
  searchUsers,
} from '../../../src/postgres/users/user-search.ts';
import { testDatabase } from '../database.ts';
import { opened } from '../../stack/opened.ts';

const USERS = 30_000;
const LIMIT = 100;

const database = opened(() => testDatabase({ redis: false }));
beforeAll(async () => {
  // Another tenant has as many; every third address begins like the ID.
  await database.pool.query(
    `INSERT INTO users (tenant_no, id, created, state, attributes, points, name_key, last_name_key, email_key)
     SELECT tenant, 'user-' || n, now(), '', '{}', '{}', 'ann ' || n % 500, n % 500,
            CASE WHEN n % 3 = 0 THEN 'user-' || n || '@example.org' END
       FROM generate_series(0, 1) AS tenant, generate_series(1, $1::int) AS n`,
    [USERS],
  );
  await database.pool.query('VACUUM ANALYZE users');
});

interface Plan {
  'Node Type': string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
}

interface Read {
  node: string;
  index: string;
  rows: number;
}

/** The nodes of a query's plan that read the table, with the rows that each of them read. */
async function reads({ text, values }: QueryConfig): Promise<Read[]> {
  const { rows } = await database.pool.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>({
    text: `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
    values: values ?? [],
  });
  const walk = (plan: Plan): Read[] => [
    ...(/Scan/.test(plan['Node Type'])
      ? [
          {
            node: plan['Node Type'],
            index: plan['Index Name'] ?? '',
            rows: plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0),
          },
        ]
      : []),
    ...(plan.Plans ?? []).flatMap(walk),
  ];
  return walk(rows[0]!['QUERY PLAN'][0].Plan);
}

const page = { tenantNo: 0, limit: LIMIT, skip: 0, order: 'asc', after: null } as const;
const sorted = Array.from({ length: USERS }, (_, n) => `user-${n + 1}`).toSorted();

test.each([
  ['the first page', page],
  ['a page in the middle', { ...page, after: 'user-5' }],
  ['the page before the end', { ...page, after: sorted[USERS - 150]! }],
  ['the last page first', { ...page, order: 'desc' }],
  ['a page from the end, in the middle', { ...page, order: 'desc', after: 'user-5' }],
] as const)('reads %s from the index, no more of it than the page', async (_, asked) => {
  expect(await reads(listQuery(asked))).toEqual([
    { node: expect.stringMatching(/^Index (Only )?Scan$/), index: 'users_by_id', rows: LIMIT },
  ]);
});

test('consecutive pages have no gap, in both orders', async () => {
  for (const order of ['asc', 'desc'] as const) {
    const all: string[] = [];
    for (let after: string | null = null; ; after = all.at(-1)!) {
      const ids = await listUsers(database.pool, { ...page, order, after, limit: 7_000 });
      all.push(...ids);
      if (ids.length < 7_000) break;
    }
    expect(all).toEqual(order === 'asc' ? sorted : sorted.toReversed());
  }
});

const search = { tenantNo: 0, search: 'ann', limit: LIMIT };

test.each([
  ['the first of a name', { ...search, place: 1, after: null }, 'users_by_name'],
  ['those in the middle', { ...search, place: 1, after: { id: 'user-9', place: 1, key: 'ann 250' } }, 'users_by_name'],
  ['the last', { ...search, place: 1, after: { id: 'user-1', place: 1, key: 'ann 99' } }, 'users_by_name'],
  ['of an ID', { ...search, search: 'user-2', place: 0, after: null }, 'users_by_id'],
] as const)('a search by %s reads no more than the page', async (_, asked, index) => {
  const [read, ...more] = await reads(searchQuery(asked));
  expect({ index: read?.index, more }).toEqual({ index, more: [] });
  expect(read?.rows).toBeLessThanOrEqual(LIMIT);
});

test('a search page by page equals the search at once; a user who matches twice is listed once', async () => {
  const asked = { tenantNo: 0, search: 'user-2' };
  const atOnce = await searchUsers(database.pool, { ...asked, after: null, limit: USERS });
  const all: FoundUser[] = [];
  for (let after: FoundUser | null = null; ; after = all.at(-1)!) {
    const found = await searchUsers(database.pool, { ...asked, after, limit: 997 });
    all.push(...found);
    if (found.length < 997) break;
  }
  expect(all).toEqual(atOnce);
  expect(all.map(({ id }) => id)).toEqual(sorted.filter((id) => id.startsWith('user-2')));
});

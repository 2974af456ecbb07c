import { beforeAll, describe, expect, test } from 'vitest';
import { FIRST_POSITION, firstIdAt, LAST_POSITION } from '../../../src/domain/administration/timeline.ts';
import {
  awardCausesStatement,
  AWARDS_OF_CAUSES,
  eventIds,
  eventIdsStatement,
  lateIdsStatement,
} from '../../../src/postgres/timeline/events.ts';
import { testDatabase } from '../database.ts';
import { opened } from '../../stack/opened.ts';

/** Of the busy user, on one day. */
const EVENTS = 50_000;
const LIMIT = 21;
/** A window with all partitions. */
const ALL = [FIRST_POSITION, LAST_POSITION];

const ID = `(lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7000' || left(md5(who || n), 12) || '0000')::uuid`;

const database = opened(() => testDatabase({ redis: false }));
beforeAll(async () => {
  // A user with a day of very many events, one with few in years, who travels, and others.
  await database.pool.query(`
    INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date)
      SELECT ${ID}, 0, who, n % 3, n, n, at, (at + zone * INTERVAL '1 hour')::date
        FROM (SELECT 'busy' AS who, n, TIMESTAMPTZ '2026-03-01' + n * INTERVAL '1 second' AS at, 0 AS zone
                FROM generate_series(1, ${EVENTS}) AS n
              UNION ALL
              SELECT 'rare', n, TIMESTAMPTZ '2020-01-01' + n * n * INTERVAL '7 hours', n % 27 - 12 FROM generate_series(1, 90) AS n
              UNION ALL
              SELECT 'user ' || n % 500, n, TIMESTAMPTZ '2026-01-01' + n * INTERVAL '1 minute', 0
                FROM generate_series(1, 20000) AS n
              UNION ALL
              -- In the partition of today, and in the default one.
              SELECT 'user ' || n % 500, n, now() + n % 2 * INTERVAL '2 years' + n * INTERVAL '1 second', 0
                FROM generate_series(20001, 40000) AS n) AS made;
    -- Those that came days late.
    UPDATE events SET local_date = local_date - 3 - value::int % 300 WHERE user_id IN ('rare', 'busy') AND value::int % 10 = 7;
    INSERT INTO awards (id, tenant_no, user_id, system_no, trigger_no, awarded, total, at, local_date)
      SELECT (left(id::text, 32) || '000' || k)::uuid, 0, user_id, 5 + value::int % 2, 7, 1, 1, at, local_date
        FROM events, generate_series(1, 2) AS k`);
  for (const table of ['events', 'awards']) await database.pool.query(`VACUUM ANALYZE ${table}`);
});

describe.each([
  ['newest', true],
  ['oldest', false],
] as const)('%s first', (_, newest) => {
  test.each(['busy', 'rare'])('the events of the %s user in the order of their IDs', async (userId) => {
    const all = await database.pool.query<{ id: string }>(
      `SELECT id::text FROM events WHERE user_id = $1 ORDER BY id ${newest ? 'DESC' : ''} LIMIT 300`,
      [userId],
    );
    const found: string[] = [];
    let [above, below] = [FIRST_POSITION, LAST_POSITION];
    while (found.length < all.rows.length) {
      const range = { tenantNo: 0, userId, above, below, newest, limit: 7 };
      const page = await eventIds(database.pool, range);
      if (page.length === 0) break;
      found.push(...page);
      if (newest) below = page.at(-1)!;
      else above = page.at(-1)!;
    }
    expect(found.slice(0, all.rows.length)).toEqual(all.rows.map(({ id }) => id));
  });

  const middle = firstIdAt(Date.UTC(2026, 2, 1, 6));
  const [above, below] = newest ? [FIRST_POSITION, middle] : [middle, LAST_POSITION];
  const day = Date.UTC(2026, 2, 1) / 86_400_000;
  test.each([
    ['events', eventIdsStatement(newest), [0, 'busy', newest ? day + 1 : day - 1, 4, above, below, LIMIT, ...ALL]],
    ['late events', lateIdsStatement(newest), [0, 'busy', above, below, LIMIT, ...ALL]],
    ['causes of awards', awardCausesStatement(newest), [0, 'busy', above, below, LIMIT, ...ALL]],
    ['awards of a page', AWARDS_OF_CAUSES, [0, 'busy', [middle], ...ALL]],
  ])('a page of %s reads no more than it shows, however many there are', async (_, statement, parameters) => {
    const { rows } = await database.pool.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
      `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${statement}`,
      parameters,
    );
    const nodes = nodesOf(rows[0]!['QUERY PLAN'][0].Plan);
    const scans = nodes.filter((node) => node['Relation Name'] !== undefined);
    expect(
      scans.map((node) => node['Node Type']).filter((type) => !/^(Index (Only )?|Bitmap Heap )Scan$/.test(type)),
    ).toEqual([]);
    const read = scans.reduce(
      (sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
      0,
    );
    expect(read).toBeLessThan(LIMIT * 20);
    expect(nodes.filter((node) => /^events_.*pkey$/.test(node['Index Name'] ?? ''))).toEqual([]);
  });
});

interface Node {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Node[];
}

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

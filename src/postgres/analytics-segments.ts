/** Values of user attributes as segments of the analytics. */
import type { Pool, PoolClient } from 'pg';
import { COUNTED, MOST_VALUES } from '../domain/analytics.ts';
import type { NamedUser } from '../domain/user.ts';
import { columns } from './columns.ts';
import { storableText } from './storable-json.ts';

/** A value of a user attribute. The value is storable text. */
export interface UserValue {
  tenantNo: number;
  attributeNo: number;
  value: string;
}

/** A value and its holders in a transaction: hash of the user (`userHash`) → the user's first place in the order of counting. */
export interface HeldValue extends UserValue {
  holders: Map<number, number>;
}

/** The segments in which a transaction counts. */
export interface CountedSegments {
  /** Share of the users in the control group, 0 to 1. */
  controlShare: number;
  /** The segments of values, and the first place that counts in each. Values without a segment are missing. */
  segmentOf: Map<HeldValue, { no: number; from: number }>;
}

interface KnownValue {
  controlShare: number;
  /** The index of the value; `null` if none of the values is known. */
  at: number | null;
  no: number;
  introducedBy: number;
  isShared: boolean;
}

const USER = columns<NamedUser>({ tenantNo: 'int', userId: ['text', 'id'] });
const FIRST = columns<NamedUser & { segments: string }>({ tenantNo: 'int', userId: ['text', 'id'], segments: 'text' });
const VALUE = columns<UserValue>({ tenantNo: 'int', attributeNo: 'int', value: 'text' });
const INTRODUCED = columns<UserValue & { introducedBy: number; isShared: boolean }>({
  tenantNo: 'int',
  attributeNo: 'int',
  value: 'text',
  introducedBy: 'int',
  isShared: 'boolean',
});

const FIND = `
  SELECT control_share AS "controlShare", (at - 1)::int AS at, no, introduced_by AS "introducedBy", is_shared AS "isShared"
    FROM organisation LEFT JOIN (
           ${VALUE.unnest('asked', 1, 'at')}
           JOIN analytics_values AS known
             ON known.tenant_no = asked.tenant_no AND known.attribute_no = asked.attribute_no
            AND text_digest(known.value) = text_digest(asked.value)
         ) ON true`;

const SHARE = 'UPDATE analytics_values SET is_shared = true WHERE no = ANY ($1::int[])';

const INTRODUCERS = `
  SELECT tenant_no AS "tenantNo", attribute_no AS "attributeNo", array_agg(introduced_by) AS "introducedBy"
    FROM analytics_values
   WHERE (tenant_no, attribute_no) IN (SELECT DISTINCT * FROM unnest($1::int[], $2::int[]))
   GROUP BY tenant_no, attribute_no`;

const INTRODUCE = `
${INTRODUCED.insertInto('analytics_values')}
  ON CONFLICT DO NOTHING
  RETURNING no, tenant_no AS "tenantNo", attribute_no AS "attributeNo", value`;

/**
 * Finds the segments of some distinct values. A new value becomes a segment with its first holder who has introduced no other
 * value of the attribute, unless the attribute has `MOST_VALUES` already. So a user can take only one place of an attribute.
 */
export async function countedSegments(client: PoolClient, values: readonly HeldValue[]): Promise<CountedSegments> {
  const { rows } = await client.query<KnownValue>({
    name: 'find_analytics_values',
    text: FIND,
    values: VALUE.arrays(values),
  });
  const segmentOf: CountedSegments['segmentOf'] = new Map();
  const shared: number[] = [];
  for (const { at, no, introducedBy, isShared } of rows) {
    if (at === null) continue;
    const value = values[at]!;
    segmentOf.set(value, { no, from: 0 });
    if (!isShared && isSharedBy(value, introducedBy)) shared.push(no);
  }
  if (shared.length > 0) await client.query(SHARE, [shared]);
  const unknown = values.filter((value) => !segmentOf.has(value));
  if (unknown.length > 0) await introduce(client, unknown, segmentOf);
  return { controlShare: rows[0]?.controlShare ?? 0, segmentOf };
}

const isSharedBy = ({ holders }: HeldValue, introducedBy: number): boolean =>
  holders.size > 1 || !holders.has(introducedBy);

async function introduce(
  client: PoolClient,
  unknown: readonly HeldValue[],
  segmentOf: CountedSegments['segmentOf'],
): Promise<void> {
  const [tenantNos, attributeNos] = VALUE.arrays(unknown);
  const { rows: known } = await client.query<{ tenantNo: number; attributeNo: number; introducedBy: number[] }>({
    name: 'find_analytics_introducers',
    text: INTRODUCERS,
    values: [tenantNos, attributeNos],
  });
  const introducers = new Map(known.map((row) => [attributeKey(row), row.introducedBy]));
  const added = new Map<HeldValue, { introducedBy: number; from: number }>();
  const candidates = unknown
    .flatMap((value) => [...value.holders].map(([introducedBy, from]) => ({ value, introducedBy, from })))
    .toSorted((a, b) => a.from - b.from);
  for (const { value, introducedBy, from } of candidates) {
    const ofAttribute = introducers.get(attributeKey(value)) ?? [];
    if (added.has(value) || ofAttribute.length >= MOST_VALUES || ofAttribute.includes(introducedBy)) continue;
    introducers.set(attributeKey(value), [...ofAttribute, introducedBy]);
    added.set(value, { introducedBy, from });
  }
  if (added.size === 0) return;
  const { rows } = await client.query<UserValue & { no: number }>(
    INTRODUCE,
    INTRODUCED.arrays(
      [...added].map(([value, { introducedBy }]) => ({
        ...value,
        introducedBy,
        isShared: isSharedBy(value, introducedBy),
      })),
    ),
  );
  const noOf = new Map(rows.map((row) => [valueKey(row), row.no]));
  for (const [value, { from }] of added) {
    const no = noOf.get(valueKey(value));
    if (no !== undefined) segmentOf.set(value, { no, from });
  }
}

const attributeKey = ({ tenantNo, attributeNo }: Omit<UserValue, 'value'>): string => `${tenantNo}:${attributeNo}`;

/** A value as a key. */
const valueKey = ({ tenantNo, attributeNo, value }: UserValue): string => `${tenantNo}:${attributeNo}:${value}`;

/** The segments of attributes in which a user was counted when first seen. */
export interface FirstSegments extends NamedUser {
  segments: readonly number[];
}

const READ_FIRST = `
  SELECT users.tenant_no AS "tenantNo", users.id AS "userId", users.first_segments AS segments
    FROM ${USER.unnest('asked')}
    JOIN users ON users.tenant_no = asked.tenant_no AND users.id = asked.id`;

/** The first segments of some distinct users; users without any are missing. */
export async function readFirstSegments(client: PoolClient, users: readonly NamedUser[]): Promise<FirstSegments[]> {
  if (users.length === 0) return [];
  const statement = { name: 'read_first_segments', text: READ_FIRST, values: USER.arrays(users) };
  const { rows } = await client.query<NamedUser & { segments: number[] | null }>(statement);
  return rows.flatMap(({ segments, ...user }) => (segments === null ? [] : [{ ...user, segments }]));
}

const STORE_FIRST = `
  UPDATE users SET first_segments = string_to_array(new.segments, ',')::int[]
    FROM ${FIRST.unnest('new')}
   WHERE users.tenant_no = new.tenant_no AND users.id = new.id`;

/** Keeps the first segments of some distinct users, who are stored already. */
export async function storeFirstSegments(client: PoolClient, users: readonly FirstSegments[]): Promise<void> {
  if (users.length === 0) return;
  const values = FIRST.arrays(users.map((user) => ({ ...user, segments: user.segments.join() })));
  await client.query({ name: 'store_first_segments', text: STORE_FIRST, values });
}

const FORGET_SUMS = `
  DELETE FROM analytics_days
   WHERE tenant_no = $1 AND kind BETWEEN 1 AND ${Math.max(...Object.values(COUNTED))} AND segment = ANY ($2::int[])`;

/** Forgets the values, and their sums, of which only the user with this hash was counted. */
export async function forgetValuesOf(
  client: PoolClient,
  { tenantNo, holder }: { tenantNo: number; holder: number },
): Promise<void> {
  const { rows } = await client.query<{ no: number }>(
    'DELETE FROM analytics_values WHERE tenant_no = $1 AND introduced_by = $2 AND NOT is_shared RETURNING no',
    [tenantNo, holder],
  );
  if (rows.length > 0) await client.query(FORGET_SUMS, [tenantNo, rows.map(({ no }) => no)]);
}

/** The values of a tenant's attributes that are segments, in order. */
export async function readValues(pool: Pool, tenantNo: number): Promise<{ attributeNo: number; value: string }[]> {
  const { rows } = await pool.query<{ attributeNo: number; value: string }>(
    `SELECT attribute_no AS "attributeNo", value FROM analytics_values
      WHERE tenant_no = $1 ORDER BY attribute_no, value`,
    [tenantNo],
  );
  return rows;
}

/** The segment of a value; `null` if the value is not counted separately. */
export async function segmentOf(pool: Pool, { tenantNo, attributeNo, value }: UserValue): Promise<number | null> {
  const { rows } = await pool.query<{ no: number }>(
    `SELECT no FROM analytics_values
      WHERE tenant_no = $1 AND attribute_no = $2 AND text_digest(value) = text_digest($3)`,
    [tenantNo, attributeNo, storableText(value)],
  );
  return rows[0]?.no ?? null;
}

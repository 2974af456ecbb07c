import type { NamedUser } from '../../domain/user.ts';
import type { PoolClient } from 'pg';
import type { Decimal } from '../../domain/decimal.ts';
import { addAwards, addEvents } from '../partitions.ts';
import { columns } from '../columns.ts';
import { storableText } from '../storable-json.ts';

/**
 * Users with more stored events and awards than this get day sums, which reads of their history use. For other users, reads
 * go through the events, which takes a few ms at most, and storing events has no extra cost.
 */
const MOST_ROWS = 2_000;
/**
 * One event or award in this many makes the persister count its user's rows, so that counting costs little. That is done in one
 * transaction of several, for all the more users: planning the statement costs more than counting the rows of a few.
 */
const COUNT_ONE_IN = 256;
const COUNT_IN_ONE_OF = 8;
/** Users with this many rows in one batch are always counted. */
const COUNT_FROM = 64;

/** An event in the sum of a day: a sent event, a reversal, or an imported day. */
export interface CountedEvent extends NamedUser {
  metricNo: number;
  localDay: number;
  value: Decimal;
  /** JSON text of the attributes by key; absent or `null` if there are none. */
  attributes?: string | null;
}

/** An award in the sum of a day. */
export interface CountedAward extends NamedUser {
  systemNo: number;
  localDay: number;
  awarded: number;
}

export interface Counted {
  events: readonly CountedEvent[];
  awards: readonly CountedAward[];
}

const USER = columns<NamedUser>({ tenantNo: 'int', userId: 'text' });
const EVENT = columns<CountedEvent>({
  tenantNo: 'int',
  userId: 'text',
  metricNo: 'int',
  localDay: ['int', 'day'],
  value: 'numeric',
  attributes: 'jsonb',
});
const AWARD = columns<CountedAward>({
  tenantNo: 'int',
  userId: 'text',
  systemNo: 'int',
  localDay: ['int', 'day'],
  awarded: 'bigint',
});

const ADD_EVENTS = addEvents(`(
  SELECT tenant_no, user_id, metric_no, DATE '1970-01-01' + day AS local_date, value, attributes
    FROM ${EVENT.unnest('row')}) AS added`);

const ADD_AWARDS = addAwards(`(
  SELECT tenant_no, user_id, system_no, DATE '1970-01-01' + day AS local_date, awarded
    FROM ${AWARD.unnest('row')}) AS added`);

const FIND_SUMMED = `
  SELECT tenant_no AS "tenantNo", user_id AS "userId" FROM ${USER.unnest('asked')} JOIN summed_users USING (tenant_no, user_id)`;

const rowsOf = (table: 'events' | 'awards'): string => `
  (SELECT count(*) FROM (SELECT FROM ${table} AS row
    WHERE row.tenant_no = asked.tenant_no AND row.user_id = asked.user_id LIMIT $3) AS first_ones)`;

const SUM = `
  WITH many AS (
    INSERT INTO summed_users (tenant_no, user_id)
    SELECT tenant_no, user_id FROM ${USER.unnest('asked')}
     WHERE ${rowsOf('events')} + ${rowsOf('awards')} >= $3
    ON CONFLICT DO NOTHING
    RETURNING tenant_no, user_id
  ), award_sums AS (${addAwards('awards JOIN many USING (tenant_no, user_id)')})
  ${addEvents('events JOIN many USING (tenant_no, user_id)')}`;

/**
 * Updates the sums of the users' days, in the transaction that stores the events and awards. Call it exactly once for each row.
 * @param stored rows in `events` and `awards`
 * @param gone rows of a time that was dropped, which exist as sums only
 */
export async function keepDaySums(client: PoolClient, stored: Counted, gone: Counted): Promise<void> {
  const users = usersOf([...stored.events, ...stored.awards]);
  const summed = await findSummed(client, users);
  const isSummed = (row: NamedUser): boolean => summed.has(keyOf(row));
  await addCounted(client, {
    events: [...(summed.size > 0 ? stored.events.filter(isSummed) : []), ...gone.events],
    awards: [...(summed.size > 0 ? stored.awards.filter(isSummed) : []), ...gone.awards],
  });
  const share = Math.random() * COUNT_IN_ONE_OF < 1 ? COUNT_IN_ONE_OF / COUNT_ONE_IN : 0;
  const sampled = [...users.values()].filter(
    (user) => !isSummed(user) && (user.rows >= COUNT_FROM || Math.random() < share * user.rows),
  );
  await sumUsers(client, sampled, MOST_ROWS + 1);
}

/** Starts day sums for those users that have at least `fromRows` events and awards and no sums yet. */
export async function sumUsers(client: PoolClient, users: readonly NamedUser[], fromRows: number): Promise<void> {
  if (users.length > 0) await client.query(SUM, [...USER.arrays(users), fromRows]);
}

function usersOf(rows: readonly NamedUser[]): Map<string, NamedUser & { rows: number }> {
  const users = new Map<string, NamedUser & { rows: number }>();
  for (const row of rows) {
    const key = keyOf(row);
    const user = users.get(key);
    if (user === undefined) users.set(key, { tenantNo: row.tenantNo, userId: row.userId, rows: 1 });
    else user.rows += 1;
  }
  return users;
}

async function findSummed(client: PoolClient, users: ReadonlyMap<string, NamedUser>): Promise<ReadonlySet<string>> {
  if (users.size === 0) return new Set();
  const values = USER.arrays([...users.values()]);
  const { rows } = await client.query<NamedUser>({ name: 'find_summed', text: FIND_SUMMED, values });
  return new Set(rows.map(keyOf));
}

async function addCounted(client: PoolClient, { events, awards }: Counted): Promise<void> {
  if (events.length > 0) await client.query(ADD_EVENTS, EVENT.arrays(events));
  if (awards.length > 0) await client.query(ADD_AWARDS, AWARD.arrays(awards));
}

const keyOf = ({ tenantNo, userId }: NamedUser): string => `${tenantNo}:${storableText(userId)}`;

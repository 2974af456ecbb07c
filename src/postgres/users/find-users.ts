import type { Pool, QueryConfig } from 'pg';
import { storableText } from '../storable-json.ts';
import { searchText } from './search-keys.ts';

export type UserOrder = 'asc' | 'desc';

/** Where a user stands in a search: the key it is found by, in the order of `KEYS`, and that key's text. */
export interface FoundUser {
  id: string;
  place: number;
  key: string;
}

/** What a search looks at, in this order. One index answers each, without looking at other users. */
const KEYS = ['id COLLATE "C"', 'name_key', 'last_name_key', 'email_key'] as const;

/** Above every text that begins with the same characters. */
const LAST = '\u{10FFFF}';

/**
 * The query of a page of a tenant's users in the order of their IDs (by bytes). `after`: an ID, of a user or not; null: from
 * the beginning. Cost: O(limit) of an index at any depth; what `skip` passes over is read as well.
 */
export function listQuery({
  tenantNo,
  after,
  order,
  limit,
  skip,
}: {
  tenantNo: number;
  after: string | null;
  order: UserOrder;
  limit: number;
  skip: number;
}): QueryConfig {
  const beyond = order === 'asc' ? '>' : '<';
  return {
    text: `SELECT id FROM users WHERE tenant_no = $1 ${after === null ? '' : `AND id COLLATE "C" ${beyond} $4`}
      ORDER BY id COLLATE "C" ${order.toUpperCase()} LIMIT $2 OFFSET $3`,
    values: [tenantNo, limit, skip, ...(after === null ? [] : [storableText(after)])],
  };
}

/** The IDs of a page, see `listQuery`. */
export async function listUsers(pool: Pool, page: Parameters<typeof listQuery>[0]): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(listQuery(page));
  return rows.map(({ id }) => id);
}

/** The ranges of keys that begin with a text: parameters $2 and $3 of IDs, as they are written, $4 and $5 of the others, in any case. */
function rangesOf(search: string): string[] {
  const written = storableText(search);
  const text = searchText(search);
  return [written, written + LAST, text, text + LAST];
}

const inRange = (place: number): string =>
  place === 0 ? `${KEYS[0]} >= $2 AND ${KEYS[0]} < $3` : `${KEYS[place]} >= $4 AND ${KEYS[place]} < $5`;

/**
 * The query of users who are found by one key after another user who was. Who is found by an earlier key is left out: those
 * were all listed before, so that what is passed over, all pages together, is no more than what was listed.
 */
export function searchQuery({
  tenantNo,
  search,
  place,
  after,
  limit,
}: {
  tenantNo: number;
  search: string;
  place: number;
  after: FoundUser | null;
  limit: number;
}): QueryConfig {
  const key = KEYS[place]!;
  const earlier = KEYS.slice(0, place).map((_, before) => `AND (${inRange(before)}) IS NOT TRUE`);
  // The users of the same ID are one; of the same name there may be any number.
  const position = place === 0 ? key : `(${key}, id)`;
  const from = after === null ? [] : place === 0 ? [after.key] : [after.key, after.id];
  const beyond = from.length === 0 ? '' : `AND ${position} > (${from.map((_, index) => `$${index + 7}`).join(', ')})`;
  return {
    // Every range has a condition, so that every parameter has a type.
    text: `SELECT id, ${key} AS key FROM users
      WHERE tenant_no = $1 AND ${inRange(place)} ${earlier.join(' ')} ${beyond}
        AND $2::text IS NOT NULL AND $3::text IS NOT NULL AND $4::text IS NOT NULL AND $5::text IS NOT NULL
      ORDER BY ${place === 0 ? key : `${key}, id`} LIMIT $6`,
    values: [tenantNo, ...rangesOf(search), limit, ...from],
  };
}

/**
 * Users whose ID begins with a text (as it is written), then those whose name, last word of the name, or e-mail
 * address does (in any case); of each, in its order; nobody twice. `after`: the last one of the page before.
 */
export async function searchUsers(
  pool: Pool,
  { after, limit, ...asked }: { tenantNo: number; search: string; after: FoundUser | null; limit: number },
): Promise<FoundUser[]> {
  const found: FoundUser[] = [];
  for (let place = after?.place ?? 0; place < KEYS.length && found.length < limit; place += 1) {
    const query = searchQuery({
      ...asked,
      place,
      after: after?.place === place ? after : null,
      limit: limit - found.length,
    });
    const { rows } = await pool.query<{ id: string; key: string }>(query);
    found.push(...rows.map(({ id, key }) => ({ id, place, key })));
  }
  return found;
}

/** Where a user stands in a search; null: it is not found by it. */
export async function placeInSearch(
  pool: Pool,
  { tenantNo, search, id }: { tenantNo: number; search: string; id: string },
): Promise<FoundUser | null> {
  const cases = (results: readonly string[]): string =>
    `CASE ${KEYS.map((_, place) => `WHEN ${inRange(place)} THEN ${results[place]}`).join(' ')} END`;
  const { rows } = await pool.query<{ place: number | null; key: string }>(
    `SELECT ${cases(['0', '1', '2', '3'])} AS place, ${cases(KEYS)} AS key FROM users WHERE tenant_no = $1 AND id = $6`,
    [tenantNo, ...rangesOf(search), storableText(id)],
  );
  const [row] = rows;
  return row === undefined || row.place === null ? null : { id: storableText(id), place: row.place, key: row.key };
}

import type { Pool, QueryConfig } from 'pg';
import { storableText } from '../storable-json.ts';

export type UserOrder = 'asc' | 'desc';

/** A user's position in a search: the index in `KEYS` of the key that matched, and the key's text. */
export interface FoundUser {
  id: string;
  place: number;
  key: string;
}

/** What a search matches, in this order. Each has its own index, which finds matches without reading other users. */
const KEYS = ['id COLLATE "C"', 'name_key', 'last_name_key', 'email_key'] as const;

/** Sorts after every text with the same prefix. */
const LAST = '\u{10FFFF}';

/** A page of users by ID (bytes). `after`: an ID, or `null`. O(limit), plus the users that `skip` passes over. */
export function listQuery(page: {
  tenantNo: number;
  after: string | null;
  order: UserOrder;
  limit: number;
  skip: number;
}): QueryConfig {
  const { tenantNo, after, order, limit, skip } = page;
  const beyond = order === 'asc' ? '>' : '<';
  return {
    text: `SELECT id FROM users WHERE tenant_no = $1 ${after === null ? '' : `AND id COLLATE "C" ${beyond} $4`}
      ORDER BY id COLLATE "C" ${order.toUpperCase()} LIMIT $2 OFFSET $3`,
    values: [tenantNo, limit, skip, ...(after === null ? [] : [storableText(after)])],
  };
}

export async function listUsers(pool: Pool, page: Parameters<typeof listQuery>[0]): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(listQuery(page));
  return rows.map(({ id }) => id);
}

/** Key ranges that begin with a text. Parameters: $2 and $3 for IDs, case-sensitive; $4 and $5 for the other keys, in any case. */
function rangesOf(search: string): string[] {
  const written = storableText(search);
  const text = searchText(search);
  return [written, written + LAST, text, text + LAST];
}

const inRange = (place: number): string =>
  place === 0 ? `${KEYS[0]} >= $2 AND ${KEYS[0]} < $3` : `${KEYS[place]} >= $4 AND ${KEYS[place]} < $5`;

/**
 * Query for the users that one key finds, after a given user. Leaves out users that an earlier key finds: they were all
 * listed before, so over all pages the query skips no more users than it has listed.
 */
export function searchQuery(page: {
  tenantNo: number;
  search: string;
  place: number;
  after: FoundUser | null;
  limit: number;
}): QueryConfig {
  const { tenantNo, search, place, after, limit } = page;
  const key = KEYS[place]!;
  const earlier = KEYS.slice(0, place).map((_, before) => `AND (${inRange(before)}) IS NOT TRUE`);
  // IDs are unique; any number of users may share a name.
  const position = place === 0 ? key : `(${key}, id)`;
  const from = after === null ? [] : place === 0 ? [after.key] : [after.key, after.id];
  const beyond = from.length === 0 ? '' : `AND ${position} > (${from.map((_, index) => `$${index + 7}`).join(', ')})`;
  return {
    // Each range has a condition, so that each parameter has a type.
    text: `SELECT id, ${key} AS key FROM users
      WHERE tenant_no = $1 AND ${inRange(place)} ${earlier.join(' ')} ${beyond}
        AND $2::text IS NOT NULL AND $3::text IS NOT NULL AND $4::text IS NOT NULL AND $5::text IS NOT NULL
      ORDER BY ${place === 0 ? key : `${key}, id`} LIMIT $6`,
    values: [tenantNo, ...rangesOf(search), limit, ...from],
  };
}

/**
 * Users whose ID begins with a text (case-sensitive), then those whose name, last word of the name, or email address does
 * (in any case). Each group has its own order, and no user occurs twice. `after`: the last user of the previous page.
 */
export async function searchUsers(
  pool: Pool,
  { after, limit, ...asked }: { tenantNo: number; search: string; after: FoundUser | null; limit: number },
): Promise<FoundUser[]> {
  const users: FoundUser[] = [];
  for (let place = after?.place ?? 0; place < KEYS.length && users.length < limit; place += 1) {
    const query = searchQuery({
      ...asked,
      place,
      after: after?.place === place ? after : null,
      limit: limit - users.length,
    });
    const { rows } = await pool.query<{ id: string; key: string }>(query);
    users.push(...rows.map(({ id, key }) => ({ id, place, key })));
  }
  return users;
}

/** A user's position in a search; `null` if the search does not find the user. */
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

/** Lower-case keys by which a user is found, besides the ID; `null` for none. */
export interface SearchKeys {
  name: string | null;
  /** The last word of a name with several words. */
  lastName: string | null;
  email: string | null;
}

/** Index entries have a limited size, and nobody types more than this. */
const LONGEST = 255;

const UNSTORABLE = /[\0\uD800-\uDFFF]/gu;

/** The form of a text for comparison: lower case, without surrounding whitespace. */
const searchText = (text: string): string =>
  text.normalize('NFC').toLowerCase().trim().slice(0, LONGEST).replaceAll(UNSTORABLE, '\uFFFD');

const NOTHING: SearchKeys = { name: null, lastName: null, email: null };

const orNull = (text: string): string | null => (text === '' ? null : text);

export function searchKeys({ name, email }: { name?: string | undefined; email?: string | undefined }): SearchKeys {
  if (name === undefined && email === undefined) return NOTHING;
  const text = searchText(name ?? '');
  const words = text === '' ? [] : text.split(/\s+/);
  return {
    name: orNull(text),
    lastName: words.length > 1 ? words.at(-1)! : null,
    email: orNull(searchText(email ?? '')),
  };
}

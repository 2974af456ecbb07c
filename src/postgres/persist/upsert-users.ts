import type { PoolClient } from 'pg';
import { numbered, unpack, type Numbered, type PackedState } from '../../redis/state.ts';
import { searchKeys } from '../users/search-keys.ts';
import { binaryArray, BYTEA, JSONB, TEXT } from './binary-array.ts';
import { storableJson, storableText } from './storable-json.ts';

export interface PackedUser {
  tenantNo: number;
  id: string;
  /** As Redis holds it, see `src/redis/state.ts`. */
  packed: Buffer;
}

const UPSERT = `
  INSERT INTO users (tenant_no, id, created, state, attributes, points, name_key, last_name_key, email_key)
  SELECT tenant_no, id, to_timestamp(created_ms / 1000.0), state, attributes, points, name_key, last_name_key, email_key
  FROM unnest($1::int[], $2::text[], $3::bytea[], $4::bigint[], $5::jsonb[], $6::jsonb[], $7::text[], $8::text[], $9::text[])
    AS touched (tenant_no, id, state, created_ms, attributes, points, name_key, last_name_key, email_key)
  ON CONFLICT (tenant_no, id) DO UPDATE
    SET state = EXCLUDED.state, attributes = EXCLUDED.attributes, points = EXCLUDED.points,
        name_key = EXCLUDED.name_key, last_name_key = EXCLUDED.last_name_key, email_key = EXCLUDED.email_key`;

/** The parameters $1 to $3 of both statements. */
export const packedUsers = (users: readonly PackedUser[]): unknown[] => [
  users.map((user) => user.tenantNo),
  binaryArray(
    TEXT,
    users.map((user) => storableText(user.id)),
  ),
  binaryArray(
    BYTEA,
    users.map((user) => user.packed),
  ),
];

const byNumber = <T>(table: Numbered<T> | undefined): Record<number, T> =>
  Array.isArray(table) ? Object.fromEntries(numbered(table)) : (table ?? {});

/** Writes users whole: state and what is queried of it. Each may be named only once in a call. Idempotent. */
export async function upsertUsers(client: PoolClient, users: readonly PackedUser[]): Promise<void> {
  if (users.length === 0) return;
  const states = users.map((user) => unpack(user.packed) as PackedState);
  const keys = states.map(({ n, e }) => searchKeys({ name: n, email: e }));
  await client.query(UPSERT, [
    ...packedUsers(users),
    states.map((state) => state.c),
    binaryArray(
      JSONB,
      states.map((state) => storableJson(JSON.stringify(byNumber(state.a)))),
    ),
    binaryArray(
      JSONB,
      states.map((state) => JSON.stringify(byNumber(state.p))),
    ),
    keys.map(({ name }) => name),
    keys.map(({ lastName }) => lastName),
    keys.map(({ email }) => email),
  ]);
}

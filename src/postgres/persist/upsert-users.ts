import type { PoolClient } from 'pg';
import { binaryArray, BYTEA, JSONB, TEXT } from './binary-array.ts';
import { storableJson, storableText } from './storable-json.ts';

export interface UserRow {
  tenantNo: number;
  id: string;
  createdMs: number;
  /** As Redis holds it, see `src/redis/state.ts`. */
  packed: Buffer;
  /** Attribute number → value. */
  attributes: Record<number, string>;
  /** Points system number → total. */
  points: Record<number, number>;
}

const UPSERT = `
  INSERT INTO users (tenant_no, id, created, state, attributes, points)
  SELECT tenant_no, id, to_timestamp(created_ms / 1000.0), state, attributes, points
  FROM unnest($1::int[], $2::text[], $3::bigint[], $4::bytea[], $5::jsonb[], $6::jsonb[])
    AS touched (tenant_no, id, created_ms, state, attributes, points)
  ON CONFLICT (tenant_no, id) DO UPDATE
    SET state = EXCLUDED.state, attributes = EXCLUDED.attributes, points = EXCLUDED.points`;

/** Writes the current state of users, each of whom may be named only once in a call. Idempotent. */
export async function upsertUsers(client: PoolClient, users: readonly UserRow[]): Promise<void> {
  if (users.length === 0) return;
  const of = <T>(value: (user: UserRow) => T): T[] => users.map(value);
  await client.query(UPSERT, [
    of((user) => user.tenantNo),
    binaryArray(
      TEXT,
      of((user) => storableText(user.id)),
    ),
    of((user) => user.createdMs),
    binaryArray(
      BYTEA,
      of((user) => user.packed),
    ),
    binaryArray(
      JSONB,
      of((user) => storableJson(JSON.stringify(user.attributes))),
    ),
    binaryArray(
      JSONB,
      of((user) => JSON.stringify(user.points)),
    ),
  ]);
}

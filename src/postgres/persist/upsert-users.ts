import type { PoolClient } from 'pg';
import type { UserState } from '../../redis/state.ts';
import { binaryArray, JSONB, TEXT } from './binary-array.ts';
import { storableJson, storableText } from './storable-json.ts';

export interface UserRow {
  tenantNo: number;
  id: string;
  state: UserState;
}

const UPSERT = `
  INSERT INTO users (tenant_no, id, created, state)
  SELECT tenant_no, id, to_timestamp(created_ms / 1000.0), state
  FROM unnest($1::int[], $2::text[], $3::bigint[], $4::jsonb[]) AS touched (tenant_no, id, created_ms, state)
  ON CONFLICT (tenant_no, id) DO UPDATE SET state = EXCLUDED.state`;

/** Writes the current state of users, each of whom may stand in `users` only once. Idempotent. */
export async function upsertUsers(client: PoolClient, users: readonly UserRow[]): Promise<void> {
  if (users.length === 0) return;
  await client.query(UPSERT, [
    users.map((user) => user.tenantNo),
    binaryArray(TEXT, users.map((user) => storableText(user.id))),
    users.map((user) => user.state.createdMs),
    binaryArray(JSONB, users.map((user) => storableJson(JSON.stringify(user.state)))),
  ]);
}

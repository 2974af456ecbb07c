import type { PoolClient } from 'pg';
import { numbered, unpack, type Numbered, type PackedState } from '../../redis/state.ts';
import { searchKeys } from '../users/search-keys.ts';
import { streakDueDay } from '../../domain/streak-due.ts';
import { binaryArray, binaryIntegers, BYTEA, JSONB, TEXT } from './binary-array.ts';
import { noteZones } from './note-zones.ts';
import { storableJson, storableText } from './storable-json.ts';

export interface PackedUser {
  tenantNo: number;
  id: string;
  /** As Redis holds it, see `src/redis/state.ts`. */
  packed: Buffer;
}

const UPSERT = `
  INSERT INTO users (tenant_no, id, created, state, attributes, points, name_key, last_name_key, email_key,
                     zone, due_day, freezes, earned_day)
  SELECT tenant_no, id, to_timestamp(created_ms / 1000.0), state, attributes, points, name_key, last_name_key, email_key,
         zone, due_day, freezes, earned_day
  FROM unnest($1::int[], $2::text[], $3::bytea[], $4::bigint[], $5::jsonb[], $6::jsonb[], $7::text[], $8::text[],
              $9::text[], $10::text[], $11::int[], $12::int[], $13::int[])
    AS touched (tenant_no, id, state, created_ms, attributes, points, name_key, last_name_key, email_key,
                zone, due_day, freezes, earned_day)
  ON CONFLICT (tenant_no, id) DO UPDATE
    SET state = EXCLUDED.state, attributes = EXCLUDED.attributes, points = EXCLUDED.points,
        name_key = EXCLUDED.name_key, last_name_key = EXCLUDED.last_name_key, email_key = EXCLUDED.email_key,
        zone = EXCLUDED.zone, due_day = EXCLUDED.due_day, freezes = EXCLUDED.freezes, earned_day = EXCLUDED.earned_day`;

/** The parameters $1 to $3 of this statement and of the two that update users. */
export const packedUsers = (users: readonly PackedUser[]): unknown[] => [
  binaryIntegers(users.map((user) => user.tenantNo)),
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

/** The first day on which the user's streaks may change by the clock, see `streakDueDay`. */
export const dueDay = ({ s }: PackedState): number | null =>
  s === undefined ? null : streakDueDay(s.map(([length, , lastPeriod]) => ({ length, lastPeriod })));

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
    states.map((state) => state.z ?? ''),
    states.map(dueDay),
    states.map((state) => state.fz ?? 0),
    states.map((state) => state.fe ?? null),
  ]);
  await noteZones(
    client,
    states.map((state, index) => ({ tenantNo: users[index]!.tenantNo, zone: state.z ?? '', atMs: state.up })),
  );
}

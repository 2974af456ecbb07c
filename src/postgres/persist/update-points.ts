import type { PoolClient } from 'pg';
import { binaryArray, JSONB } from './binary-array.ts';
import { inOrder, packedUsers, upsertUsers, type PackedUser } from './upsert-users.ts';
import { NOT_OWED } from './not-owed.ts';

/** A user and the changed points: system number → total, none of them 0. */
export interface PaidUser extends PackedUser {
  points: Record<number, number>;
}

/** Looks up each user by primary key and changes no indexed column, so no index is updated (HOT). */
export const UPDATE_POINTS = `
  UPDATE users SET state = touched.state, points = users.points || touched.points
  FROM unnest($1::int[], $2::text[], $3::bytea[], $4::jsonb[]) AS touched (tenant_no, id, state, points)
  WHERE users.tenant_no = touched.tenant_no AND users.id = touched.id AND ${NOT_OWED}`;

/** The changed points as a parameter. */
export const changedPoints = (users: readonly PaidUser[]): Buffer =>
  binaryArray(
    JSONB,
    users.map(({ points }) => JSON.stringify(points)),
  );

/**
 * Writes the state of users of whom only points changed, without unpacking it. CPU per user, in worker and Postgres: 15 µs, compared with 35 for all
 * derived columns. Missing users, and those whose last state could not be stored, are written completely.
 */
export async function updatePoints(client: PoolClient, users: readonly PaidUser[]): Promise<void> {
  if (users.length === 0) return;
  const sorted = inOrder(users);
  const values = [...packedUsers(sorted), changedPoints(sorted)];
  const { rowCount } = await client.query({ name: 'persist_points', text: UPDATE_POINTS, values });
  if (rowCount !== users.length) await upsertUsers(client, users);
}

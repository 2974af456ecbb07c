import type { PoolClient } from 'pg';
import { unpack, type PackedState } from '../../redis/state.ts';
import { binaryIntegers } from './binary-array.ts';
import { dueDay, packedUsers, upsertUsers, type PackedUser } from './upsert-users.ts';

const UPDATE = `
  UPDATE users SET state = touched.state, due_day = touched.due_day, freezes = touched.freezes, earned_day = touched.earned_day
  FROM unnest($1::int[], $2::text[], $3::bytea[], $4::int[], $5::int[], $6::int[])
    AS touched (tenant_no, id, state, due_day, freezes, earned_day)
  WHERE users.tenant_no = touched.tenant_no AND users.id = touched.id`;

/**
 * Writes the state of users of whom only streaks changed, with what the sweep goes by: a midnight changes as many as there
 * are. Users who are missing are written whole.
 */
export async function updateStreaks(client: PoolClient, users: readonly PackedUser[]): Promise<void> {
  if (users.length === 0) return;
  const dueDays: (number | null)[] = [];
  const freezes: (number | null)[] = [];
  const earnedDays: (number | null)[] = [];
  // No state is kept beyond its turn: thousands that are at hand together cost more in collecting garbage than all else.
  for (const { packed } of users) {
    const state = unpack(packed) as PackedState;
    dueDays.push(dueDay(state));
    freezes.push(state.fz ?? 0);
    earnedDays.push(state.fe ?? null);
  }
  const { rowCount } = await client.query(UPDATE, [
    ...packedUsers(users),
    binaryIntegers(dueDays),
    binaryIntegers(freezes),
    binaryIntegers(earnedDays),
  ]);
  if (rowCount !== users.length) await upsertUsers(client, users);
}

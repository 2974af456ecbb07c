import type { PoolClient } from 'pg';
import { changedPoints, type PaidUser } from './update-points.ts';
import { inOrder, packedUsers, stateOf, SweptBy, upsertUsers } from './upsert-users.ts';
import { NOT_OWED } from './not-owed.ts';

const UPDATE = `
  UPDATE users SET state = touched.state, points = users.points || touched.points, zone = touched.zone,
                   due_day = touched.due_day, freezes = touched.freezes, earned_day = touched.earned_day,
                   anniversary_ms = touched.anniversary_ms, daily_origin = touched.daily_origin,
                   weekly_origin = touched.weekly_origin, monthly_origin = touched.monthly_origin
  FROM unnest($1::int[], $2::text[], $3::bytea[], $4::jsonb[], $5::text[], $6::int[], $7::int[], $8::int[],
              $9::bigint[], $10::int[], $11::int[], $12::int[])
    AS touched (tenant_no, id, state, points, zone, due_day, freezes, earned_day, anniversary_ms,
                daily_origin, weekly_origin, monthly_origin)
  WHERE users.tenant_no = touched.tenant_no AND users.id = touched.id AND ${NOT_OWED}`;

/**
 * Writes the state of users whose streaks or zone changed, the columns for the sweep, and changed points. A midnight changes all users, as do the first
 * events of a day. Missing users, and those whose last state could not be stored, are written completely.
 */
export async function updateStreaks(client: PoolClient, users: readonly PaidUser[]): Promise<void> {
  if (users.length === 0) return;
  const swept = new SweptBy();
  const sorted = inOrder(users);
  for (const { tenantNo, packed } of sorted) swept.add(tenantNo, stateOf(packed));
  const values = [...packedUsers(sorted), changedPoints(sorted), ...swept.parameters()];
  const { rowCount } = await client.query({ name: 'persist_streaks', text: UPDATE, values });
  if (rowCount === users.length) await swept.note(client);
  else await upsertUsers(client, users);
}

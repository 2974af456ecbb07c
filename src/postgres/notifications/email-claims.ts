import type { PoolClient } from 'pg';
import { storableText } from '../storable-json.ts';

/** What a user's email is about: the period of a streak or a recap, or a user's inactivity. */
export interface EmailClaim {
  userId: string;
  dueFor: string;
}

/**
 * Claims emails of a kind for users, in the client's transaction. Each user may occur only once per call.
 * @returns the users who had not been claimed before
 */
export async function claimEmails(
  client: PoolClient,
  { tenantNo, kind }: { tenantNo: number; kind: string },
  claims: readonly EmailClaim[],
): Promise<Set<string>> {
  if (claims.length === 0) return new Set();
  const { rows } = await client.query<{ userId: string }>(
    `INSERT INTO notification_emails AS known (tenant_no, user_id, kind, due_for)
     SELECT $1, user_id, $2, due_for FROM unnest($3::text[], $4::text[]) AS claim (user_id, due_for)
     ON CONFLICT (tenant_no, user_id, kind) DO UPDATE SET due_for = EXCLUDED.due_for
      WHERE known.due_for <> EXCLUDED.due_for
     RETURNING user_id AS "userId"`,
    [tenantNo, kind, claims.map(({ userId }) => storableText(userId)), claims.map(({ dueFor }) => dueFor)],
  );
  return new Set(rows.map(({ userId }) => userId));
}

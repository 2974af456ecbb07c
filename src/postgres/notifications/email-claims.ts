import type { PoolClient } from 'pg';
import { storableText } from '../storable-json.ts';

/** What an e-mail of a user is due for: the period of a streak, of a recap, the rest of a user. */
export interface EmailClaim {
  userId: string;
  dueFor: string;
}

/**
 * Notes that e-mails of a kind are due, in the client's transaction; each user may be named only once in a call.
 * @returns the users of whom that was not noted before
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

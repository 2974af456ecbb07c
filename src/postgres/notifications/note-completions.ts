import type { PoolClient } from 'pg';
import { storableText } from '../storable-json.ts';

/** A completion of which an e-mail falls due. */
export interface DueCompletion {
  tenantNo: number;
  userId: string;
  achievementNo: number;
  /** Epoch ms. */
  dueMs: number;
}

/** Keeps completions until their e-mails are due, in the client's transaction. Idempotent. */
export async function noteCompletions(client: PoolClient, completions: readonly DueCompletion[]): Promise<void> {
  if (completions.length === 0) return;
  await client.query(
    `INSERT INTO notification_completions (tenant_no, user_id, achievement_no, due_ms)
     SELECT * FROM unnest($1::int[], $2::text[], $3::int[], $4::bigint[]) ON CONFLICT DO NOTHING`,
    [
      completions.map(({ tenantNo }) => tenantNo),
      completions.map(({ userId }) => storableText(userId)),
      completions.map(({ achievementNo }) => achievementNo),
      completions.map(({ dueMs }) => dueMs),
    ],
  );
}

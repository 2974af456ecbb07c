import type { PoolClient } from 'pg';
import { achievementDueMs } from '../../domain/email-times.ts';
import { noteCompletions } from '../../postgres/notifications/emails.ts';

/** An achievement that a user completed, not by backdating. */
export interface NotedCompletion {
  tenantNo: number;
  userId: string;
  achievementNo: number;
  /** Epoch ms. */
  completedMs: number;
  /** The user's zone; null: UTC. */
  zone: string | null;
}

/**
 * Notes completions whose `emails.achievement_due` somebody wants, in the client's transaction: the clock makes the
 * notification when it falls due, for users who may be written to then. Each is noted once; a zone that changes later does
 * not move it.
 */
export const noteDue = (client: PoolClient, completions: readonly NotedCompletion[]): Promise<void> =>
  noteCompletions(
    client,
    completions.map(({ completedMs, zone, ...completion }) => ({
      ...completion,
      dueMs: achievementDueMs(zone, completedMs),
    })),
  );

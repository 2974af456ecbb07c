/** Deletes the rows of users who had very many, and their places in very many snapshots, after their deletion is stored (decision 57). */
import type { Redis } from 'ioredis';
import type { PoolClient } from 'pg';
import { replaceSnapshotParts, searchRuns } from '../../postgres/boards/snapshots.ts';
import type { Progress } from '../../postgres/jobs.ts';
import { endRemoval, giveWay, type RemovalJob, removeNextRows } from '../../postgres/users/row-removals.ts';
import { forgetUsedKeys } from '../../redis/idempotency.ts';
import { knownPart } from '../../redis/parts.ts';
import { entryHead, userHash, withoutEntry } from '../leaderboards/snapshot-parts.ts';
import { usedKey } from '../persist/batch.ts';
import type { JobWork } from '../schedule/job-runner.ts';
import { unlessLocked } from './merge-ending.ts';

export const rowRemoval = (redis: Redis): JobWork<RemovalJob> => ({
  kinds: ['user_deletion'],
  title: 'deletion of rows',
  waitMs: 100,
  slice: (job, record) => unlessLocked(() => record((client) => removeSome(redis, client, job))),
});

/** Idempotency keys go from Redis before the commit, so that a crash leaves none. */
async function removeSome(redis: Redis, client: PoolClient, job: RemovalJob): Promise<Progress> {
  await giveWay(client);
  const removed = await removeNextRows(client, job);
  if (removed !== null) {
    const of = { userId: job.result.from, generation: job.parameters.generation ?? undefined };
    const keys = removed.keys.map((key) => usedKey(of, key));
    await forgetUsedKeys(redis, knownPart(redis, job.tenantNo, of.userId), keys);
    return { done: removed.rows };
  }
  const cursor = await forgetSomePlaces(client, job);
  if (cursor !== null) return { cursor };
  await endRemoval(client, job);
  return {};
}

/** Removes the user from the next snapshots. Returns the next cursor; `null` if there are no others. */
async function forgetSomePlaces(
  client: PoolClient,
  { tenantNo, cursor: from, result: { from: userId, lastSnapshots: lastDays } }: RemovalJob,
): Promise<string | null> {
  if (lastDays === undefined) return null;
  const user = { hash: userHash(userId), bytes: entryHead(userId) };
  const { parts, cursor } = await searchRuns(client, { tenantNo, lastDays, cursor: from }, user);
  const without = parts.map((part) => ({ ...part, packed: withoutEntry(part.packed, userId) }));
  await replaceSnapshotParts(client, tenantNo, without);
  return cursor;
}

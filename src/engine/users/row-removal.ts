/** Deletes the rows of users who had very many, after their deletion is stored (decision 57). */
import type { Redis } from 'ioredis';
import { endRemoval, giveWay, type RemovalJob, removeNextRows } from '../../postgres/users/row-removals.ts';
import { forgetUsedKeys } from '../../redis/idempotency.ts';
import { knownPart } from '../../redis/parts.ts';
import { usedKey } from '../persist/batch.ts';
import type { JobWork } from '../schedule/job-runner.ts';
import { unlessLocked } from './merge-ending.ts';

/** Idempotency keys go from Redis before the commit, so that a crash leaves none. */
export const rowRemoval = (redis: Redis): JobWork<RemovalJob> => ({
  kinds: ['user_deletion'],
  title: 'deletion of rows',
  waitMs: 100,
  slice: (job, record) =>
    unlessLocked(() =>
      record(async (client) => {
        await giveWay(client);
        const removed = await removeNextRows(client, job);
        if (removed === null) {
          await endRemoval(client, job);
          return { done: 0 };
        }
        const of = { userId: job.result.from, generation: job.parameters.generation ?? undefined };
        const keys = removed.keys.map((key) => usedKey(of, key));
        await forgetUsedKeys(redis, knownPart(redis, job.tenantNo, of.userId), keys);
        return { done: removed.rows };
      }),
    ),
});

/** Merges users of different shards: seals the one who goes, and waits until a worker has merged them. Decision 54 has the steps. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { UserMerge } from '../../domain/administration/merge.ts';
import { AppError } from '../../errors.ts';
import { KIND, kindField, RECORD } from '../../packed/record-fields.ts';
import type { MergeRecord } from '../../packed/record.ts';
import { hasMergeJob } from '../../postgres/users/merge-jobs.ts';
import { mergeOf } from '../../postgres/users/merges.ts';
import { directAlias } from '../../redis/aliases.ts';
import { areMergesHeld, permitMerge } from '../../redis/merge-permits.ts';
import { decodeUser, encodeUser } from '../../rules/user-codec.ts';
import { SEALED_MS } from '../../rules/user.ts';
import { inOwnTurn } from '../../pacing/turns.ts';
import { mapPart } from '../changes/block.ts';
import { changeUser, UNKNOWN_USER, unwritten, type UserChange } from '../changes/change-user.ts';
import type { ReadUser } from '../changes/change-users.ts';
import { isSealed, UserSealed } from '../changes/sealed.ts';
import { eventId } from '../ids.ts';
import type { Scripts } from '../scripts.ts';
import { computeMerge, requireQuiet } from './merge-computation.ts';

/** The merge is permitted on the shard of `into`; `from` is sealed in Redis. */
export type SealMoment = 'permitted' | 'sealed';

interface MergesAcrossOptions {
  redis: Redis;
  pool: Pool;
  scripts: Scripts;
  clock: Clock;
  persisted: (tenantNo: number, userId?: string) => Promise<void>;
  wakeJobs: () => Promise<void>;
  onMoment: (moment: SealMoment) => void | Promise<void>;
}

/** How long a request waits. Usually it takes less than a second. */
const WAIT_MS = 20_000;
const LOOK_MS = 25;

/** The two users, resolved. */
interface Two {
  from: string;
  into: string;
}

export function createMergesAcross({
  redis,
  pool,
  scripts,
  clock,
  persisted,
  wakeJobs,
  onMoment,
}: MergesAcrossOptions) {
  /**
   * Merges `from` into `into`, once. The merge goes on by itself once `from` is sealed, also if this process stops. Throws as
   * `UserMerges.merge` does; 503 if the merge takes long (a repeated request gets its answer), or was given up and changed nothing.
   */
  async function merge(compiled: CompiledCatalog, two: Two, dryRun: boolean): Promise<UserMerge> {
    const { tenantNo } = compiled.catalog;
    const check = async (): Promise<UserMerge> => {
      await requireQuiet(pool, tenantNo, two);
      await Promise.all([persisted(tenantNo, two.from), persisted(tenantNo, two.into)]);
      const { two: users, answer } = await computeMerge(pool, compiled, { ...two, dryRun, nowMs: clock.now() });
      if (!dryRun && [users.from, users.into].some(({ packed }) => isSealed(packed))) throw new UserSealed();
      return answer;
    };
    const preview = await check();
    if (dryRun) return preview;
    if (await areMergesHeld(redis, tenantNo))
      throw new AppError('unavailable', 'Rankings are being copied; try again in a moment.');
    const seal = eventId(clock.now());
    await permitMerge(redis, { tenantNo, into: two.into, seal });
    await onMoment('permitted');
    await sealUser(tenantNo, two, seal);
    await onMoment('sealed');
    await persisted(tenantNo, two.from);
    await wakeJobs();
    const merged = await untilMerged(tenantNo, two, seal);
    if (merged !== null) return merged;
    // Says what is in the way, if that is still so.
    await check();
    throw new AppError('unavailable', 'Something else came first, and nothing was merged; try again in a moment.');
  }

  async function sealUser(tenantNo: number, { from, into }: Two, seal: string): Promise<void> {
    const nowMs = clock.now();
    const compute = (read: ReadUser): UserChange<object> => {
      if (read.packed === null) return unwritten(read, UNKNOWN_USER);
      const user = decodeUser(read.packed);
      if (user.heldUntilMs === SEALED_MS) throw new UserSealed();
      user.heldUntilMs = SEALED_MS;
      const record: MergeRecord = {
        [kindField]: KIND.merge,
        [RECORD.id]: seal,
        [RECORD.userId]: from,
        [RECORD.atMs]: nowMs,
        [RECORD.sealed]: into,
      };
      const state = encodeUser(user);
      const { packed: expected, generation } = read;
      const records = [mapPart(record, null)];
      const block = { userId: from, expected, generation, state, uses: [], counts: [], fields: [], records };
      return { block, reply: record, packed: state };
    };
    const isStored = async (): Promise<boolean> =>
      (await hasMergeJob(pool, seal)) || (await mergeOf(pool, tenantNo, from)) !== null;
    const change = await changeUser(scripts, tenantNo, { userId: from, compute }, { isStored });
    if (change !== null && change.packed === null)
      throw new AppError('not_found', 'from: there is no user with this ID.');
  }

  /** The answer; `null` if the merge was given up. Throws 503 if it takes long. */
  async function untilMerged(tenantNo: number, { from, into }: Two, seal: string): Promise<UserMerge | null> {
    const deadlineMs = performance.now() + WAIT_MS;
    for (;;) {
      // First: the alias is there before the job goes.
      const isOpen = await hasMergeJob(pool, seal);
      if ((await directAlias(redis, tenantNo, from)) !== null) {
        const row = await mergeOf(pool, tenantNo, from);
        return row === null ? null : { ...(row.answer as UserMerge), into };
      }
      if (!isOpen) return null;
      if (performance.now() > deadlineMs)
        throw new AppError(
          'unavailable',
          'The merge has begun and goes on by itself; repeat the request for its answer. Until then, changes of from get 503.',
        );
      await inOwnTurn(sleep(LOOK_MS));
    }
  }

  return { merge };
}

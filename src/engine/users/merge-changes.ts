import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import { knownPart } from '../../redis/parts.ts';
import type { Block } from '../changes/block.ts';
import { callsOnce } from '../changes/calls.ts';
import { type ReadUser, type Subject, changeUsers } from '../changes/change-users.ts';
import { isPersisted } from '../persist/cursor-wait.ts';

/** A merge under way. */
export interface Merge {
  tenantNo: number;
  from: string;
  into: string;
  /** 32 hex digits. */
  seal: string;
}

/** The remaining user has everything; the seal has ended, with or without a merge; the permit of a merge is taken back. */
export type MergeStep = 'transferred' | 'unsealed' | 'revoked';

export interface MergeEndingOptions {
  redis: Redis;
  pool: Pool;
  clock: Clock;
  /** Called with the shard of a commit that wrote. */
  onWritten: (shard: number) => void;
  /** Called after each step, so that tests can stop there. */
  onMergeStep?: ((step: MergeStep) => void | Promise<void>) | undefined;
}

/** Reads and changes one user of a merge at a time. */
export function createMergeChanges({ redis, pool, onWritten }: MergeEndingOptions) {
  /** Whether all changes of a user so far are in Postgres. */
  function isStored(tenantNo: number, userId: string): Promise<boolean> {
    return isPersisted({ redis, pool }, knownPart(redis, tenantNo, userId).shard);
  }

  /** A user as Redis has it. Throws RedisNotReady while the shard is rebuilt. */
  async function read(tenantNo: number, userId: string): Promise<ReadUser> {
    let user: ReadUser | undefined;
    const compute = (read: ReadUser): { block: null } => {
      user = read;
      return { block: null };
    };
    await changeOne(tenantNo, { userId, keys: [], isGuarded: true, compute });
    return user!;
  }

  /** 'held': nothing was written. */
  async function changeOne(
    tenantNo: number,
    subject: Subject<{ block: Block | null }>,
    { handlesSealed = false } = {},
  ): Promise<string> {
    const part = knownPart(redis, tenantNo, subject.userId);
    const calls = callsOnce(redis, { onWritten: () => onWritten(part.shard) });
    const { ended } = await changeUsers(calls, part, [subject], { together: true, handlesSealed });
    return ended;
  }

  return { isStored, read, changeOne };
}

export type MergeChanges = ReturnType<typeof createMergeChanges>;

/** A change that is computed once: a conflict ends it. */
export function once(blockOf: (read: ReadUser) => Block | null): (read: ReadUser) => { block: Block | null } {
  let isFirst = true;
  return (read) => {
    const block = isFirst ? blockOf(read) : null;
    isFirst = false;
    return { block };
  };
}

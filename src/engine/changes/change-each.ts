/** The way to change many users: by the clock, or from their history. */
import type { Redis } from 'ioredis';
import type { HappenedRecord } from '../../packed/record.ts';
import type { TenantPart } from '../../redis/keys.ts';
import { inParts, isCurrent, TenantConverting } from '../../redis/parts.ts';
import { decodeUser, encodeUser } from '../../rules/user-codec.ts';
import type { User } from '../../rules/user.ts';
import { type Block, countsOf, type Effects, mapPart, movesPart } from './block.ts';
import { callsOnce } from './calls.ts';
import { changeUsers, type ReadUser } from './change-users.ts';

export interface ChangeEachOptions {
  redis: Redis;
  /** Called with the shard of a commit that wrote. */
  onWritten: (shard: number) => void;
}

/**
 * A record of a user's change, with what else it does; `null`: no record is written. `place`: records of one call are written in this
 * order.
 */
export interface ChangeRecord {
  record: HappenedRecord | null;
  effects: Omit<Effects, 'isNew'>;
  place?: number;
}

/** A user's change. Without records, nothing is written. */
export interface EachChange {
  records: readonly ChangeRecord[];
}

/**
 * Changes some users of a tenant, each user once: with a call of `changeUsers` for each part that holds some of them. Returns each
 * user's change, in order; `null` for users who do not exist. `compute` changes the user in place; it is called again if the user has
 * changed meanwhile. Does not retry: for work that is repeated as a whole if it fails, and must then change nothing twice.
 */
export async function changeEach<U extends { userId: string }, C extends EachChange>(
  { redis, onWritten }: ChangeEachOptions,
  tenantNo: number,
  users: readonly U[],
  compute: (user: User, one: U, packed: Buffer) => C,
): Promise<(C | null)[]> {
  return inParts(redis, tenantNo, {
    users,
    userId: ({ userId }) => userId,
    call: async (part, some) => {
      const subjects = some.map((one) => ({
        userId: one.userId,
        keys: [],
        isGuarded: false,
        compute: (read: ReadUser) => blockOf(part, one, read, compute),
      }));
      const calls = callsOnce(redis, {
        onWritten: () => onWritten(part.shard),
        around: (run) => {
          // The users may belong to other shards since they were read.
          if (!isCurrent(redis, part)) throw new TenantConverting();
          return run();
        },
      });
      const { changed } = await changeUsers(calls, part, subjects, { inSlices: true });
      return changed.map(({ change }) => change.change);
    },
  });
}

function blockOf<U extends { userId: string }, C extends EachChange>(
  part: TenantPart,
  one: U,
  { packed, generation }: ReadUser,
  compute: (user: User, one: U, packed: Buffer) => C,
): { block: Block | null; change: C | null } {
  if (packed === null) return { block: null, change: null };
  const user = decodeUser(packed);
  const change = compute(user, one, packed);
  if (change.records.length === 0) return { block: null, change };
  const block = {
    userId: one.userId,
    expected: packed,
    generation,
    state: encodeUser(user),
    uses: [],
    counts: change.records.flatMap(({ effects }) => countsOf(part, { isNew: false, ...effects })),
    fields: [],
    records: change.records.map(({ record, effects: { scores }, place }) =>
      record === null ? movesPart(scores) : mapPart(record, scores, place),
    ),
  };
  return { block, change };
}

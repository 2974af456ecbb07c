import type { Redis } from 'ioredis';
import { userKey } from '../../redis/keys.ts';
import { nameInState } from '../../redis/state-name.ts';

const CHUNK = 1000;

/** The names of users, in their order; null for one without a name or without a state. */
export async function userNames(
  redis: Redis,
  tenantNo: number,
  users: readonly { userId: string }[],
): Promise<(string | null)[]> {
  const names: (string | null)[] = [];
  for (let from = 0; from < users.length; from += CHUNK) {
    const keys = users.slice(from, from + CHUNK).map(({ userId }) => userKey(tenantNo, userId));
    for (const packed of await redis.mgetBuffer(keys)) names.push(packed === null ? null : nameInState(packed));
  }
  return names;
}

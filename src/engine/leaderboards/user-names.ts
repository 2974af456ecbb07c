import type { Redis } from 'ioredis';
import { userKey } from '../../redis/keys.ts';
import { nameInState } from '../../packed/state.ts';
import { Slices } from '../../slices.ts';

const CHUNK = 1000;

/** The names of users, in their order; null for one without a name or without a state. Large states in slices. */
export async function userNames(
  redis: Redis,
  tenantNo: number,
  users: readonly { userId: string }[],
): Promise<(string | null)[]> {
  const names: (string | null)[] = [];
  for (let from = 0; from < users.length; from += CHUNK) {
    const keys = users.slice(from, from + CHUNK).map(({ userId }) => userKey(tenantNo, userId));
    const states = await redis.mgetBuffer(keys);
    const slices = new Slices();
    for (const packed of states) {
      if (slices.over) await slices.turn();
      names.push(packed === null ? null : nameInState(packed));
    }
  }
  return names;
}

import type { Redis } from 'ioredis';
import { namingKeysPattern } from './keys.ts';

/** Keys looked at by one step of the scan: about 1 ms of Redis's time. */
const COUNT = 5000;

/**
 * A tenant's sorted sets of users: boards of all runs and groups, points sets. Those that are there from
 * beginning to end are all found. Walks the whole key space, in small steps.
 */
export async function namingKeys(redis: Redis, tenantNo: number): Promise<string[]> {
  const found = new Set<string>();
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', namingKeysPattern(tenantNo), 'COUNT', COUNT);
    for (const key of keys) found.add(key);
    cursor = next;
  } while (cursor !== '0');
  return [...found];
}

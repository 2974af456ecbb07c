import type { Redis } from 'ioredis';
import { decodeUser, encodeUser } from '../../src/rules/user-codec.ts';
import type { User } from '../../src/rules/user.ts';

/** Changes a user in Redis, bypassing all checks. */
export async function changeState(redis: Redis, key: string, change: (user: User) => void): Promise<void> {
  const user = decodeUser((await redis.getBuffer(key))!);
  change(user);
  await redis.set(key, encodeUser(user));
}

import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { inlineNames, readScript } from '../../src/redis/lua-library.ts';

const PACKED_STATE = readScript(join(PACKAGE_ROOT, 'lua', 'lib', 'users.lua'));

/**
 * Changes a user's state in Redis, bypassing all checks: `change` is Lua that knows it as `state`, by the names of its
 * fields.
 */
export async function changeState(redis: Redis, key: string, change: string): Promise<void> {
  const text = `${PACKED_STATE}
local state = unpack_state(redis.call('GET', KEYS[1]))
${inlineNames(change, 'change of a state')}
redis.call('SET', KEYS[1], pack_state(state))`;
  await redis.eval(text, 1, key);
}

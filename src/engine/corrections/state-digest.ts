import { createHash } from 'node:crypto';

/** What a correction that was computed elsewhere rests on: SHA-1 of the user's packed state in hex, as `redis.sha1hex` has it. */
export const stateDigest = (packed: Buffer): string => createHash('sha1').update(packed).digest('hex');

import type { Redis } from 'ioredis';
import { publishSignal } from '../redis/signals.ts';

/** The message that a job was added, or is to be run again. */
export const JOB_ADDED = 'jobs';

/**
 * Publishes a change, after its commit: `<tenant no>:<version>` for a catalog, `*` for keys, tenants or the
 * organisation, `JOB_ADDED` for a job. Never rejects, for the change is stored already: a process that misses it finds it by `Changes`' poll.
 */
export const announce = (redis: Redis, message: string): Promise<void> => publishSignal(redis, 'changes', message);

import type { Redis } from 'ioredis';
import { publishSignal } from '../redis/signals.ts';

/** Message: a job was added or restarted. */
export const JOB_ADDED = 'jobs';

/**
 * Publishes a change after its commit: `<tenant no>:<version>` for a catalog, `*` for keys, tenants or the organisation, `JOB_ADDED` for a job. Never
 * rejects, because the change is already stored, and a process that misses the message finds it by polling (`Changes`).
 */
export const announce = (redis: Redis, message: string): Promise<void> => publishSignal(redis, 'changes', message);

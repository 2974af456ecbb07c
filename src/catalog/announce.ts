import type { Redis } from 'ioredis';
import { publishSignal } from '../redis/signals.ts';

/**
 * Publishes a change after its commit: `<tenant no>:<version>` for a catalog, `*` for keys, tenants or the organisation. Never rejects,
 * because the change is already stored, and a process that misses the message finds it in the counters (`Changes`).
 */
export const announce = (redis: Redis, message: string): Promise<void> => publishSignal(redis, 'changes', message);

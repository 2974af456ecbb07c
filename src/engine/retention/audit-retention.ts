import type { Pool } from 'pg';
import { DAY_MS, epochDay } from '../../domain/periods.ts';
import { deleteAuditBefore, oldestAuditMs } from '../../postgres/access/audit.ts';
import { periodicUpkeep, type ScheduledWork } from '../schedule/due-work.ts';

/** Entries deleted in a step: about 30 ms of Postgres. */
const STEP = 5_000;

/** Deletes audit log entries older than `days`, daily at midnight UTC. Idempotent. */
export const createAuditRetention = (pool: Pool, days: number, step = STEP): ScheduledWork =>
  periodicUpkeep('old entries of the audit log', DAY_MS, {
    dueMs: async (upToMs) => {
      const oldestMs = await oldestAuditMs(pool);
      const dueMs = oldestMs === null ? Infinity : (epochDay(oldestMs) + 1 + days) * DAY_MS;
      return dueMs <= upToMs ? dueMs : null;
    },
    perform: (upToMs) => deleteAuditBefore(pool, { beforeMs: (epochDay(upToMs) - days) * DAY_MS, most: step }),
  });

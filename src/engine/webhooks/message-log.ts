import type { Pool } from 'pg';
import { DAY_MS, epochDay } from '../../domain/periods.ts';
import {
  deleteMessagesBefore,
  dropMessageDay,
  forgetDeletedWebhooks,
  hasMessagesBefore,
  makeMessageDay,
  messageDays,
} from '../../postgres/webhooks/messages.ts';
import { eraseEndedSecrets, nextSecretEndMs } from '../../postgres/webhooks/secrets.ts';
import { periodicUpkeep, type ScheduledWork } from '../schedule/due-work.ts';

/** Days whose partitions are created in advance. A worker may be away for that long. */
const AHEAD = 2;

/**
 * Manages the log of webhook messages: creates the partitions of the coming days, and drops those that are older than
 * `days`, including messages that still wait. Runs once a day at the start of the UTC day. Idempotent;
 * after a crash the rest is still due.
 */
export const createMessageLog = (pool: Pool, days: number): ScheduledWork =>
  periodicUpkeep('log of webhooks', DAY_MS, {
    dueMs: async (upToMs) => {
      const today = epochDay(upToMs);
      const { missing, old, leftovers } = await logWork(pool, days, today);
      return missing.length > 0 || old.length > 0 || leftovers ? today * DAY_MS : null;
    },
    perform: async (upToMs, ending) => {
      const today = epochDay(upToMs);
      const { missing, old, leftovers } = await logWork(pool, days, today);
      for (const day of missing) await makeMessageDay(pool, day);
      for (const day of old) if (!ending.aborted) await dropMessageDay(pool, day);
      if (leftovers) await deleteMessagesBefore(pool, today - days);
      await forgetDeletedWebhooks(pool);
      // A day with messages in the default partition gets no partition of its own.
      return old.length === 0 && !leftovers;
    },
  });

async function logWork(
  pool: Pool,
  days: number,
  today: number,
): Promise<{ missing: number[]; old: number[]; leftovers: boolean }> {
  const partitions = await messageDays(pool);
  const needed = Array.from({ length: AHEAD + 1 }, (_, n) => today + n);
  return {
    missing: needed.filter((day) => !partitions.includes(day)),
    old: partitions.filter((day) => day < today - days),
    leftovers: await hasMessagesBefore(pool, today - days),
  };
}

/** Erases the previous secret of a webhook after the 24 hours in which it also signs. */
export function createSecretErasure(pool: Pool): ScheduledWork {
  async function due(upToMs: number): Promise<number | null> {
    const endMs = await nextSecretEndMs(pool);
    return endMs !== null && endMs <= upToMs ? endMs : null;
  }
  return {
    name: 'previous secrets of webhooks',
    isUpkeep: true,
    due,
    upcoming: due,
    perform: (_dueMs, _ending, _beforeMs, upToMs) => eraseEndedSecrets(pool, upToMs),
  };
}

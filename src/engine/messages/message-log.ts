import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import type { MessageQuery } from '../../domain/notifications/message-channel.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { AppError } from '../../errors.ts';
import { writeAudit } from '../../postgres/access/audit.ts';
import {
  deleteFinishedMessages,
  dropLate,
  type LoggedMessage,
  listLoggedMessages,
} from '../../postgres/notifications/messages.ts';
import {
  deleteSuppression,
  listSuppressions,
  type SuppressionRow,
} from '../../postgres/notifications/message-suppressions.ts';
import { transaction } from '../../postgres/transaction.ts';
import { type Page, pageOf } from '../page.ts';
import { periodicUpkeep, type ScheduledWork } from '../schedule/due-work.ts';
import { LATEST_MS } from './message-queue.ts';
import { MESSAGE_KINDS } from '../../domain/notifications/message-variables.ts';

/** Administrators' view of the e-mails: the log, and the addresses that get none. */
export function createEmailLog(pool: Pool, clock: Clock) {
  async function list(
    tenantNo: number,
    { limit, cursor, status, kind, medium, userId }: MessageQuery,
  ): Promise<Page<LoggedMessage>> {
    const [atMs, id] = cursor?.split('.') ?? [];
    const rows = await listLoggedMessages(pool, {
      tenantNo,
      limit: limit + 1,
      before: atMs === undefined || id === undefined ? null : { atMs: Number(atMs), id },
      status: status ?? null,
      kind: kind ?? null,
      medium: medium ?? null,
      userId: userId ?? null,
    });
    return pageOf(rows, limit, (row) => `${row.atMs}.${row.id}`);
  }

  async function suppressed(
    tenantNo: number,
    { limit, cursor }: { limit: number; cursor?: string },
  ): Promise<Page<SuppressionRow>> {
    const rows = await listSuppressions(pool, tenantNo, limit + 1, cursor ?? null);
    return pageOf(rows, limit, ({ address }) => address);
  }

  /** Allows e-mails to an address again. Throws 404 if it is not suppressed. */
  async function unsuppress(tenantNo: number, address: string, by: Author): Promise<void> {
    await transaction(pool, async (client) => {
      const userId = await deleteSuppression(client, tenantNo, address);
      if (userId === null) throw new AppError('not_found', 'The address is not suppressed');
      // The address is personal data and not in the entry.
      const entries = [{ action: 'delete', kind: 'suppressed_address', userId } as const];
      await writeAudit(client, { tenantNo, nowMs: clock.now(), by, entries });
    });
  }

  return { list, suppressed, unsuppress };
}

/** E-mails deleted in a step. */
const STEP = 5_000;
const HOUR_MS = 3_600_000;

/**
 * Once an hour, drops e-mails that wait although it is too late for them, and deletes those that are older than `days`
 * from the log. Idempotent.
 */
export const createMessageRetention = (pool: Pool, days: number): ScheduledWork =>
  periodicUpkeep('log of e-mails', HOUR_MS, {
    dueMs: async (upToMs) => Math.floor(upToMs / HOUR_MS) * HOUR_MS,
    perform: async (upToMs) => {
      for (const kind of MESSAGE_KINDS)
        await dropLate(pool, { kind, beforeMs: upToMs - LATEST_MS[kind], nowMs: upToMs });
      const deleted = await deleteFinishedMessages(pool, { beforeMs: upToMs - days * DAY_MS, limit: STEP });
      return deleted < STEP;
    },
  });

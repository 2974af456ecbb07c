import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/author.ts';
import type { Log } from '../../log/log.ts';
import { writeAudit, type AuditRecord } from './write-audit.ts';

/** Records actions outside Postgres, with the time of this call. */
export type RecordAudit = (record: Omit<AuditRecord, 'nowMs' | 'version'>) => Promise<void>;

/** Most records that wait while Postgres is unreachable. Beyond that the oldest are dropped, which is logged. */
const MOST = 10_000;
const RETRY_MS = 1_000;

/**
 * Records actions that have no Postgres transaction (those in Redis, and reads) in the audit log. It does so after the action and never makes it fail:
 * while Postgres is unreachable, a limited number of records wait in memory for a retry. A process that dies loses waiting records, usually those
 * of the last milliseconds. Records that arrive during a write are written together by the next statement.
 */
export class AuditTrail {
  private readonly pool: Pool;
  private readonly clock: Clock;
  private readonly log: Pick<Log, 'error'>;
  private waiting: AuditRecord[] = [];
  private tail: Promise<void> = Promise.resolve();
  private retry: NodeJS.Timeout | null = null;

  constructor({ pool, clock, log }: { pool: Pool; clock: Clock; log: Pick<Log, 'error'> }) {
    this.pool = pool;
    this.clock = clock;
    this.log = log;
  }

  /** Records actions. Resolves when they are written or waiting for a retry; never rejects. */
  readonly record: RecordAudit = (record) => {
    if (record.entries.length === 0) return Promise.resolve();
    this.waiting.push({ ...record, nowMs: this.clock.now() });
    this.dropOldest();
    return (this.tail = this.tail.then(() => (this.retry === null ? this.write() : undefined)));
  };

  /** Writes waiting records, with a retry if Postgres was unreachable. Call it after the last `record`. */
  async close(): Promise<void> {
    await this.tail;
    if (this.retry !== null) clearTimeout(this.retry);
    await this.write();
    if (this.retry !== null) clearTimeout(this.retry);
  }

  private async write(): Promise<void> {
    const records = this.waiting;
    if (records.length === 0) return;
    this.waiting = [];
    try {
      await writeAudit(this.pool, records);
    } catch (error) {
      await this.failed(records, error);
    }
  }

  private dropOldest(): void {
    while (this.waiting.length > MOST) {
      const { by } = this.waiting.shift()!;
      this.log.error(
        { ...requestOf(by), most: MOST },
        'an entry of the audit log is lost: Postgres has been away for too long',
      );
    }
  }

  /** Postgres would refuse invalid data again and so block all other records. In that case entries are written one by one. */
  private async failed(records: AuditRecord[], error: unknown): Promise<void> {
    if (!isRefused(error)) {
      this.waiting = [...records, ...this.waiting];
      this.dropOldest();
      this.retry = setTimeout(() => {
        this.retry = null;
        this.tail = this.tail.then(() => this.write());
      }, RETRY_MS).unref();
    } else if (records.length === 1) {
      const { by, entries } = records[0]!;
      this.log.error({ ...requestOf(by), kind: entries[0]!.kind }, 'an entry of the audit log could not be stored');
    } else {
      for (const record of records) {
        await writeAudit(this.pool, record).catch((one: unknown) => this.failed([record], one));
      }
    }
  }
}

/** SQLSTATE classes 22 and 23: the data is invalid. */
function isRefused(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^2[23]/.test(code);
}

/** Log fields about an entry's request. */
const requestOf = ({ requestId = null }: Author): { requestId: string | null } => ({ requestId });

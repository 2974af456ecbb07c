import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/author.ts';
import type { Log } from '../../log/log.ts';
import { writeAudit, type AuditRecord } from './write-audit.ts';

/** What was done outside Postgres: the time is that of the call. */
export type RecordAudit = (record: Omit<AuditRecord, 'nowMs' | 'version'>) => Promise<void>;

/** So many records wait while Postgres is away; then the oldest are dropped, and the log says so. */
const MOST = 10_000;
const RETRY_MS = 1_000;

/**
 * Records in the audit log what was done where no Postgres transaction does it: in Redis, or by reading. It is recorded
 * after it was done and never makes it fail: while Postgres is away records wait in memory, bounded, and are tried again.
 * A process that dies loses what waits: as a rule the changes of the last milliseconds, with Postgres away those since then.
 * Records that come while others are being written go together with the next statement.
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

  /** Records something. Resolves when it is written, or waits to be tried again; never rejects. */
  readonly record: RecordAudit = (record) => {
    if (record.entries.length === 0) return Promise.resolve();
    this.waiting.push({ ...record, nowMs: this.clock.now() });
    this.dropOldest();
    return (this.tail = this.tail.then(() => (this.retry === null ? this.write() : undefined)));
  };

  /** Writes what waits, again if Postgres was away. To be called when nothing is recorded any more. */
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

  /** What Postgres refuses for what it is would be refused again, and keep back all others: so entries are then written one by one. */
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

/** SQLSTATE classes 22 and 23: the data itself is at fault. */
function isRefused(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^2[23]/.test(code);
}

/** What a line of the log says of the request that an entry is about. */
const requestOf = ({ requestId = null }: Author): { requestId: string | null } => ({ requestId });

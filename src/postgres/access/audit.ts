import type { Pool, PoolClient } from 'pg';
import { columns } from '../columns.ts';
import type { Clock } from '../../clock.ts';
import type { AuditAction, AuditKind } from '../../domain/administration/audit.ts';
import type { Author } from '../../domain/administration/author.ts';
import type { Log } from '../../telemetry/log.ts';
import { groupedBy } from '../../grouped.ts';
import { storableJson, storableText } from '../storable-json.ts';

/** Actions that change nothing. What an assistant's call changes has an entry of its own. */
const WITHOUT_CHANGE: readonly AuditAction[] = ['call', 'export', 'refuse'];

export interface AuditEntry {
  action: AuditAction;
  kind: AuditKind;
  /** UUID of the subject, if it has one. */
  id?: string | null;
  name?: string | null;
  userId?: string;
  /** Previous and new values of the changed fields. */
  before?: object | undefined;
  after?: object | undefined;
}

interface AuditRecord {
  /** `null` for the organisation. */
  tenantNo: number | null;
  nowMs: number;
  by: Author;
  version?: number;
  entries: readonly AuditEntry[];
}

/** Bytes of JSON kept of each set of fields; the rest is omitted. */
const MOST_BYTES = 4096;

const jsonOf = (fields: object | undefined): string | null => {
  if (fields === undefined) return null;
  const json = JSON.stringify(fields, (name, value: unknown) => (/secret/i.test(name) ? '…' : value));
  return json.length > MOST_BYTES ? null : storableJson(json);
};

/** Rows per statement. Serialising them blocks the event loop. */
const ROWS_AT_ONCE = 1_000;

export async function writeAudit(
  client: Pool | PoolClient,
  records: AuditRecord | readonly AuditRecord[],
): Promise<void> {
  const rows = [records].flat().flatMap(({ entries, ...of }) => entries.map((entry) => ({ ...of, ...entry })));
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE)
    await writeRows(client, rows.slice(from, from + ROWS_AT_ONCE));
}

type Row = Omit<AuditRecord, 'entries'> & AuditEntry;

type Logged = Omit<Row, 'by' | 'before' | 'after'> & Author & { before: string | null; after: string | null };

const LOGGED = columns<Logged>({
  tenantNo: 'int',
  nowMs: ['time', 'at'],
  who: 'text',
  address: 'text',
  requestId: 'text',
  version: 'bigint',
  action: 'text',
  kind: 'text',
  id: 'uuid',
  name: 'text',
  userId: ['text', 'about_user'],
  before: 'jsonb',
  after: 'jsonb',
});
const INSERT = LOGGED.insertInto('audit_log');

async function writeRows(client: Pool | PoolClient, rows: readonly Row[]): Promise<void> {
  const logged = rows.map(({ by, nowMs, tenantNo, ...entry }) => ({
    ...entry,
    tenantNo,
    nowMs,
    ...by,
    before: jsonOf(entry.before),
    after: jsonOf(entry.after),
  }));
  await client.query(INSERT, LOGGED.arrays(logged));
}

/** Sign-ins or assistants' calls of a key a minute that are kept one by one. */
const MOST_SINGLE = 300;
const A_MINUTE_MS = 60_000;

/**
 * Records sign-ins or assistants' calls. Beyond 300 a minute of one key, further ones are one entry with their number, so that the holder
 * of a key without a rate limit cannot fill the log.
 */
export async function writeRepeatable(client: Pool | PoolClient, records: readonly AuditRecord[]): Promise<void> {
  const rows = records.flatMap(({ entries, ...of }) => entries.map((entry) => ({ ...of, ...entry })));
  const alike = groupedBy(rows, ({ tenantNo, by, action, kind }) => JSON.stringify([tenantNo, by.who, action, kind]));
  for (const group of alike.values()) {
    const { tenantNo, by, action, kind, nowMs } = group[0]!;
    const { rows: found } = await client.query<{ entries: number; merged: string | null }>(
      `SELECT count(*)::int AS entries, max(no) FILTER (WHERE after ? 'count') AS merged
         FROM audit_log
        WHERE at > to_timestamp($1 / 1000.0) AND who = $2 AND action = $3 AND kind = $4 AND tenant_no IS NOT DISTINCT FROM $5`,
      [nowMs - A_MINUTE_MS, by.who, action, kind, tenantNo],
    );
    const { entries, merged } = found[0]!;
    const single = group.slice(0, Math.max(0, MOST_SINGLE - entries));
    if (single.length > 0) await writeRows(client, single);
    const count = group.length - single.length;
    if (count === 0) continue;
    if (merged === null)
      await writeRows(client, [{ tenantNo, by: { who: by.who }, action, kind, nowMs, after: { count } }]);
    else
      await client.query(
        `UPDATE audit_log SET after = jsonb_build_object('count', (after ->> 'count')::int + $2) WHERE no = $1`,
        [merged, count],
      );
  }
}

/** Records actions outside Postgres, with the time of this call. */
export type RecordAudit = (record: Omit<AuditRecord, 'nowMs' | 'version'>) => Promise<void>;

/** Most records that wait while Postgres is unreachable. Beyond that the oldest are dropped, which is logged. */
const MOST_WAITING = 10_000;
const RETRY_MS = 1_000;

/**
 * Records actions that have no Postgres transaction (those in Redis, and reads) in the audit log. It does so after the
 * action and never makes it fail: while Postgres is unreachable, a limited number of records wait in memory for a retry. A
 * process that dies loses waiting records, usually those of the last milliseconds. Records that arrive during a write are
 * written together by the next statement.
 */
export class AuditTrail {
  private readonly pool: Pool;
  private readonly clock: Clock;
  private readonly log: Pick<Log, 'error'>;
  private waiting: AuditRecord[] = [];
  private tail: Promise<void> = Promise.resolve();
  private retry: NodeJS.Timeout | null = null;

  constructor(pool: Pool, clock: Clock, log: Pick<Log, 'error'>) {
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
    let records = this.waiting;
    if (records.length === 0) return;
    this.waiting = [];
    try {
      // Exports stay one by one: whose data left must be known.
      const isRepeatable = ({ entries }: AuditRecord): boolean => entries.every(({ action }) => action === 'call');
      await writeAudit(
        this.pool,
        records.filter((record) => !isRepeatable(record)),
      );
      // Those that are written stay so if this fails.
      records = records.filter(isRepeatable);
      await writeRepeatable(this.pool, records);
    } catch (error) {
      await this.failed(records, error);
    }
  }

  private dropOldest(): void {
    while (this.waiting.length > MOST_WAITING) {
      const { by } = this.waiting.shift()!;
      this.log.error(
        { ...requestOf(by), most: MOST_WAITING },
        'an audit log entry is lost because Postgres was unreachable for too long',
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
      this.log.error({ ...requestOf(by), kind: entries[0]!.kind }, 'an audit log entry could not be stored');
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

export interface AuditRow {
  at: Date;
  who: string;
  address: string | null;
  requestId: string | null;
  action: string;
  kind: string;
  id: string | null;
  name: string | null;
  userId: string | null;
  version: number | null;
  before: object | null;
  after: object | null;
}

export interface AuditQuery {
  limit: number;
  skip: number;
  kind?: string | undefined;
  resourceId?: string | undefined;
  who?: string | undefined;
  userId?: string | undefined;
  /** Whether to omit entries of actions that changed nothing, and of sessions. */
  onlyChanges: boolean;
}

/** Entries about a tenant and, unless only the tenant's own are requested, about the organisation; newest first. */
export async function readAudit(
  pool: Pool,
  { tenantNo, onlyTenant, ...query }: AuditQuery & { tenantNo: number; onlyTenant: boolean },
): Promise<AuditRow[]> {
  const { limit, skip, kind, resourceId, who, userId, onlyChanges } = query;
  const { rows } = await pool.query<AuditRow>(
    `SELECT at, who, address, request_id AS "requestId", action, kind, id, name, about_user AS "userId", version, before, after
       FROM audit_log
      WHERE (tenant_no = $1 ${onlyTenant ? '' : 'OR tenant_no IS NULL'})
        AND ($4::text IS NULL OR kind = $4) AND ($5::uuid IS NULL OR id = $5) AND ($6::text IS NULL OR who = $6)
        AND ($7::text IS NULL OR about_user = $7) AND action <> ALL ($8::text[])
        AND NOT ($9 AND kind = 'session')
      ORDER BY no DESC LIMIT $2 OFFSET $3`,
    [
      tenantNo,
      limit,
      skip,
      kind ?? null,
      resourceId ?? null,
      who ?? null,
      userId === undefined ? null : storableText(userId),
      onlyChanges ? WITHOUT_CHANGE : [],
      onlyChanges,
    ],
  );
  return rows;
}

/** Most prefixes and addresses in an entry. Others are only counted. */
const NAMED = 10;

class Refusals {
  private count = 0;
  private readonly prefixes = new Map<string, number>();
  private readonly addresses = new Map<string, number>();

  add(prefix: string | null, address: string | null): void {
    this.count += 1;
    if (prefix !== null) add(this.prefixes, prefix);
    if (address !== null) add(this.addresses, address);
  }

  summary(): object {
    return {
      count: this.count,
      prefixes: Object.fromEntries(this.prefixes),
      addresses: Object.fromEntries(this.addresses),
    };
  }
}

const OTHERS = 'others';

function add(counts: Map<string, number>, name: string): void {
  const counted = counts.has(name) || counts.size < NAMED ? name : OTHERS;
  counts.set(counted, (counts.get(counted) ?? 0) + 1);
}

/**
 * Counts refused keys and records them in the audit log: at most one entry per minute and reason from each process, with at
 * most ten prefixes and addresses. Never sees a secret. If the process dies, the counts of the last minute are lost.
 */
export class RefusedKeys {
  private readonly record: RecordAudit;
  private counted = new Map<string, Refusals>();
  private timer: NodeJS.Timeout | null = null;

  constructor(record: RecordAudit) {
    this.record = record;
  }

  note({ reason, prefix }: { reason: string; prefix: string | null }, address: string | null): void {
    let refusals = this.counted.get(reason);
    if (refusals === undefined) this.counted.set(reason, (refusals = new Refusals()));
    refusals.add(prefix, address);
    this.timer ??= setTimeout(() => void this.flush(), A_MINUTE_MS).unref();
  }

  async flush(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const { counted } = this;
    this.counted = new Map();
    const entries = [...counted].map(
      ([reason, refusals]) => ({ action: 'refuse', kind: 'key', name: reason, after: refusals.summary() }) as const,
    );
    await this.record({ tenantNo: null, by: { who: 'key check' }, entries });
  }
}

/** Time of the oldest entry (epoch ms), or `null`. */
export async function oldestAuditMs(pool: Pool): Promise<number | null> {
  const { rows } = await pool.query<{ ms: number | null }>(
    'SELECT (extract(epoch FROM min(at)) * 1000)::float8 AS ms FROM audit_log',
  );
  return rows[0]?.ms ?? null;
}

export async function deleteAuditBefore(
  pool: Pool,
  { beforeMs, most }: { beforeMs: number; most: number },
): Promise<void> {
  await pool.query(
    `DELETE FROM audit_log
      WHERE no IN (SELECT no FROM audit_log WHERE at < to_timestamp($1 / 1000.0) ORDER BY at LIMIT $2)`,
    [beforeMs, most],
  );
}

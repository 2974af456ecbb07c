import type { RecordAudit } from './audit-trail.ts';

/** Most prefixes and addresses in an entry. Others are only counted. */
const NAMED = 10;

/** Counts for one reason. */
class Refusals {
  private count = 0;
  private readonly prefixes = new Map<string, number>();
  private readonly addresses = new Map<string, number>();

  add(prefix: string | null, address: string | null): void {
    this.count += 1;
    if (prefix !== null) add(this.prefixes, prefix);
    if (address !== null) add(this.addresses, address);
  }

  /** The form in the audit log. */
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

const A_MINUTE_MS = 60_000;

/**
 * Counts refused keys and records them in the audit log: at most one entry per minute and reason from each process, with at most ten prefixes and
 * addresses. Never sees a secret. If the process dies, the counts of the last minute are lost.
 */
export class RefusedKeys {
  private readonly record: RecordAudit;
  private readonly everyMs: number;
  private counted = new Map<string, Refusals>();
  private timer: NodeJS.Timeout | null = null;

  constructor({ record, everyMs = A_MINUTE_MS }: { record: RecordAudit; everyMs?: number }) {
    this.record = record;
    this.everyMs = everyMs;
  }

  note({ reason, prefix }: { reason: string; prefix: string | null }, address: string | null): void {
    let refusals = this.counted.get(reason);
    if (refusals === undefined) this.counted.set(reason, (refusals = new Refusals()));
    refusals.add(prefix, address);
    this.timer ??= setTimeout(() => void this.flush(), this.everyMs).unref();
  }

  /** Records the counts so far. Never rejects. */
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

import { setTimeout as sleep } from 'node:timers/promises';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import type { TestLaurel } from '../../laurel.ts';

const RETRY_MS = 20;
/** How long storing the last events may take. */
const STORED_MS = 60_000;

/**
 * Clients that send events of some tenants, each one after another, and retry unacknowledged ones with the same idempotency
 * key. Counts the acknowledgements, and measures how long each tenant had no answer.
 */
export class Load {
  /** Acknowledged events by tenant. */
  readonly acknowledged = new Map<string, number>();
  /** Status of answers other than 201, by tenant. */
  readonly refusals = new Map<string, number[]>();
  /** Events that are sent and not yet answered, by tenant. */
  private readonly sent = new Map<string, Set<Promise<unknown>>>();
  private readonly laurel: TestLaurel;
  private readonly longest = new Map<string, number>();
  private readonly ending = new AbortController();
  private readonly clients: Promise<void>[];

  constructor(laurel: TestLaurel, tenants: readonly string[], clientsEach = 2) {
    this.laurel = laurel;
    for (const tenantId of tenants) {
      this.acknowledged.set(tenantId, 0);
      this.refusals.set(tenantId, []);
      this.sent.set(tenantId, new Set());
      this.longest.set(tenantId, 0);
    }
    this.clients = tenants.flatMap((tenantId) =>
      Array.from({ length: clientsEach }, (_, client) => this.send(tenantId, client)),
    );
  }

  /** The longest time from sending an event of a tenant to its acknowledgement, ms. */
  longestMs(tenants: readonly string[]): number {
    return Math.max(0, ...tenants.map((tenantId) => this.longest.get(tenantId)!));
  }

  /** Resolves when everything sent is acknowledged. */
  async end(): Promise<void> {
    this.ending.abort();
    await Promise.all(this.clients);
  }

  /** Differences between the acknowledged events, Redis and Postgres; empty if each event counted once. */
  async differences(): Promise<unknown[]> {
    const { laurel } = this;
    const differences: unknown[] = [];
    for (const [tenantId, count] of this.acknowledged) {
      const totals = await Promise.all(this.clients.map((_, client) => this.total(tenantId, client)));
      const total = totals.reduce((sum, each) => sum + each, 0);
      if (total !== count) differences.push(`${tenantId}: ${count} events are acknowledged, the totals are ${total}`);
    }
    const sent = [...this.acknowledged.values()].reduce((sum, count) => sum + count, 0);
    const stored = async (): Promise<number> =>
      (await laurel.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM events')).rows[0]!.n;
    const deadlineMs = performance.now() + STORED_MS;
    while ((await stored()) < sent && performance.now() < deadlineMs) await sleep(RETRY_MS);
    if ((await stored()) !== sent) differences.push(`${await stored()} events are stored, ${sent} acknowledged`);
    const redis = await laurel.connect();
    try {
      await verify({ redis, pool: laurel.pool, onDifference: (each) => void differences.push(each) });
    } finally {
      redis.disconnect();
    }
    return differences;
  }

  /** The total of a client's user; 0 if the tenant has no such user. */
  private async total(tenantId: string, client: number): Promise<number> {
    for (;;) {
      const { body, status } = await this.laurel.app.get(`/v1/users/user-${client}/metrics/flips`, { tenantId });
      if (status === 200) return (body as { current: number }).current;
      if (status === 404) return 0;
      await sleep(RETRY_MS);
    }
  }

  /** Resolves when every event of a tenant that was sent before the call is answered. */
  async answered(tenantId: string): Promise<void> {
    await Promise.all(this.sent.get(tenantId)!);
  }

  /** Counts an answer; returns whether it is an acknowledgement. */
  private note(tenantId: string, status: number): boolean {
    const isAcknowledged = status === 201 || status === 202;
    if (isAcknowledged) this.acknowledged.set(tenantId, this.acknowledged.get(tenantId)! + 1);
    else this.refusals.get(tenantId)!.push(status);
    return isAcknowledged;
  }

  private async send(tenantId: string, client: number): Promise<void> {
    for (let no = 0; !this.ending.signal.aborted; no += 1) {
      const event = { user: { id: `user-${client}` }, value: 1 };
      const headers = { 'idempotency-key': `${client}-${no}` };
      const sentMs = performance.now();
      for (;;) {
        const asked = this.laurel.app
          .post('/v1/metrics/flips/event', event, { tenantId, headers })
          .catch(() => ({ status: 0 }))
          .then(({ status }) => this.note(tenantId, status));
        const sent = this.sent.get(tenantId)!;
        sent.add(asked);
        const isAcknowledged = await asked;
        sent.delete(asked);
        if (isAcknowledged) break;
        await sleep(RETRY_MS);
      }
      this.longest.set(tenantId, Math.max(this.longest.get(tenantId)!, performance.now() - sentMs));
    }
  }
}

import type { Pool } from 'pg';
import { pino } from 'pino';
import { createResources, type Resources } from '../../../src/catalog/resources.ts';
import { FixedClock } from '../../../src/clock.ts';
import type { NewMessage } from '../../../src/domain/notifications/notification.ts';
import { Deliveries, type DeliveriesOptions, disableWebhook } from '../../../src/engine/webhooks/deliveries.ts';
import { createSender, type SenderOptions } from '../../../src/engine/webhooks/sender.ts';
import { createPool } from '../../../src/postgres/pool.ts';
import { testDatabase, type TestDatabase } from '../../postgres/database.ts';
import { insert, message } from '../../postgres/webhooks/messages.ts';

export const NOW_MS = Date.UTC(2026, 10, 22, 12);

/** Webhooks of a tenant in a database of their own, and workers that send to them. */
export class DeliveryBed {
  readonly pool: Pool;
  readonly clock = new FixedClock(NOW_MS);
  readonly resources: Resources;
  /** Every try's outcome. */
  readonly outcomes: string[] = [];
  private readonly database: TestDatabase;
  private readonly workers: { worker: Deliveries; pool: Pool }[] = [];

  private constructor(database: TestDatabase) {
    this.database = database;
    this.pool = database.pool;
    this.resources = createResources({ pool: this.pool, announce: async () => undefined, clock: this.clock });
  }

  static async create(): Promise<DeliveryBed> {
    return new DeliveryBed(await testDatabase({ redis: false }));
  }

  /** Creates this many tenants, numbered from 1, instead of the organisation's own. */
  async tenants(count: number): Promise<void> {
    await this.pool.query(
      `INSERT INTO tenants (no, id, name) SELECT no, gen_random_uuid(), 'tenant' FROM generate_series(1, $1::int) AS no`,
      [count],
    );
    await this.pool.query('UPDATE organisation SET multi_tenancy = true');
  }

  /** Creates webhooks of the organisation's own tenant; returns their IDs. */
  webhooks(...urls: string[]): Promise<string[]> {
    return this.webhooksOf(0, urls);
  }

  async webhooksOf(tenantNo: number, urls: readonly string[]): Promise<string[]> {
    const { result } = await this.resources.edit(tenantNo, { who: 'test' }, (draft) =>
      urls.map(
        (url) =>
          draft.create('webhook', {
            name: url,
            url,
            events: ['points.changed'],
            enabled: true,
            secretNo: 1,
            header: null,
            filter: null,
          }).id,
      ),
    );
    return result;
  }

  async enable(webhookId: string, fields: { enabled?: boolean; url?: string }): Promise<void> {
    await this.resources.edit(0, { who: 'test' }, (draft) => {
      draft.update('webhook', webhookId, { ...draft.get('webhook', webhookId)!, ...fields });
    });
    for (const { worker } of this.workers) worker.webhooksChanged();
  }

  /** Starts a worker. `before`: awaited before each statement that is not part of a transaction. */
  worker(
    options: Partial<DeliveriesOptions> & Partial<SenderOptions> & { before?: (text: string) => Promise<void> } = {},
  ): Deliveries {
    const { timeoutMs = 60_000, allowPrivate = true, resolve, before, ...rest } = options;
    const pool = createPool(this.database.stack.databaseUrl, { max: 3 });
    if (before !== undefined) {
      const query = pool.query.bind(pool) as (text: string, values?: unknown[]) => Promise<unknown>;
      pool.query = (async (text: string, values?: unknown[]) => {
        await before(text);
        return query(text, values);
      }) as never;
    }
    const worker = new Deliveries({
      pool,
      clock: this.clock,
      sender: createSender({ timeoutMs, allowPrivate, ...(resolve && { resolve }) }),
      log: pino({ level: 'silent' }),
      disable: (webhook, reason) => disableWebhook(this.resources, webhook, reason),
      onTried: (outcome) => void this.outcomes.push(outcome),
      pendingLimit: 1_000_000,
      ...rest,
    });
    this.workers.push({ worker, pool });
    return worker;
  }

  /** From now on the worker cannot reach Postgres. */
  async cutOff(worker: Deliveries): Promise<void> {
    await this.workers.find((each) => each.worker === worker)!.pool.end();
  }

  /** Queues a message for each user, and announces it to the workers. */
  async send(webhookId: string, userIds: readonly (string | null)[], tenantNo = 0): Promise<NewMessage[]> {
    const messages = userIds.map((userId) => message(webhookId, userId, { tenantNo }));
    await insert(this.pool, messages, this.clock.now());
    this.look();
    return messages;
  }

  look(): void {
    for (const { worker } of this.workers) worker.look();
  }

  /** Moves the clock, which the workers notice. */
  advance(ms: number): void {
    this.clock.set(this.clock.now() + ms);
    this.look();
  }

  /** The log of a webhook, oldest first. */
  async log(webhookId: string) {
    const { rows } = await this.pool.query<{ id: string; status: string; tries: { status: number; error: string }[] }>(
      `SELECT id, status, tries FROM webhook_messages WHERE webhook_id = $1 ORDER BY sequence`,
      [webhookId],
    );
    return rows;
  }

  /** Tries of all messages of a webhook. */
  async tries(webhookId: string): Promise<number> {
    return (await this.log(webhookId)).reduce((sum, { tries }) => sum + tries.length, 0);
  }

  /** Number of pending messages. */
  async waiting(): Promise<number> {
    return (await this.pool.query('SELECT FROM webhook_queue')).rowCount ?? 0;
  }

  async closeWorkers(): Promise<void> {
    for (const { worker, pool } of this.workers.splice(0)) {
      await worker.close();
      if (!pool.ended) await pool.end();
    }
  }

  async close(): Promise<void> {
    await this.closeWorkers();
    await this.database.close();
  }
}

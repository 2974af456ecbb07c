import type { Pool, PoolClient } from 'pg';
import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { Catalogs } from '../../../catalog/catalogs.ts';
import type { Notification } from '../../../domain/notification.ts';
import { awaitCursor } from '../../../postgres/persist/cursor.ts';
import { transaction } from '../../../postgres/transaction.ts';
import { insertMessages } from '../../../postgres/webhooks/insert-messages.ts';
import { shardOf } from '../../../redis/keys.ts';
import { listenersOf } from '../listeners.ts';

export interface PublisherOptions {
  pool: Pool;
  catalogs: Pick<Catalogs, 'of' | 'atLeast'>;
  /** Called after a commit with what was made, where it was anything. */
  onMade?: (notifications: readonly Notification[]) => void;
}

/** Makes the notifications that come from the clock, not from a record. */
export class Publisher {
  readonly pool: Pool;
  private readonly options: PublisherOptions;

  constructor(options: PublisherOptions) {
    this.pool = options.pool;
    this.options = options;
  }

  /** A tenant's catalog, at a version or a later one. */
  async catalog(tenantNo: number, version: number): Promise<CompiledCatalog> {
    await this.options.catalogs.atLeast(tenantNo, version);
    return this.options.catalogs.of(tenantNo);
  }

  /**
   * Stores the messages of the notifications that `make` answers, in one transaction with what it writes. The transaction
   * holds the cursor of the tenant's shard from before `make` is called, as the persister does, so that messages about a
   * user are in the order of commits: `make` must be short. Where it answers null, nothing is written, and it is false.
   * @param nowMs Laurel's clock
   */
  async publish(
    compiled: CompiledCatalog,
    nowMs: number,
    make: (client: PoolClient) => Promise<Notification[] | null>,
  ): Promise<boolean> {
    const { pool, onMade } = this.options;
    let made: Notification[] | null = null;
    await transaction(pool, async (client) => {
      await awaitCursor(client, shardOf(compiled.catalog.tenantNo));
      const notifications = await make(client);
      if (notifications === null) throw new Overtaken();
      const listeners = listenersOf(compiled);
      const messages = notifications.flatMap((notification) => listeners.messagesFor(notification));
      await insertMessages(client, messages, nowMs);
      made = notifications;
    }).catch((error: unknown) => {
      if (!(error instanceof Overtaken)) throw error;
    });
    const notifications = made as Notification[] | null;
    if (notifications !== null && notifications.length > 0) onMade?.(notifications);
    return notifications !== null;
  }
}

/** Another process was faster. */
class Overtaken extends Error {}

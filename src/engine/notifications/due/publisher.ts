import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { Catalogs } from '../../../catalog/catalogs.ts';
import type { Clock } from '../../../clock.ts';
import type { Notification, NotificationType } from '../../../domain/notifications/notification.ts';
import { KIND_OF_TYPE } from '../../../domain/notifications/message-variables.ts';
import { MEDIA, type Medium } from '../../../domain/notifications/medium.ts';
import { catalogVersions } from '../../../postgres/catalog.ts';
import { type WantingTenant, wantingTenants } from '../../../postgres/notifications/due.ts';
import { addMessagesToSend, type MessageToSend } from '../../../postgres/notifications/messages.ts';
import { awaitCursors } from '../../../postgres/shards.ts';
import { transaction } from '../../../postgres/transaction.ts';
import { insertMessages } from '../../../postgres/webhooks/messages.ts';
import { knownParts } from '../../../redis/parts.ts';
import type { ListenedUsers } from '../../../redis/live-streams.ts';
import { occasionMessageId } from '../../messages/message-queue.ts';
import { type OnPieceFailed, Pieces, tenantPiece } from '../../schedule/pieces.ts';
import { listenersOf } from '../listeners.ts';
import type { Wants } from '../rules.ts';

/** The steps at which tests crash the making of notifications. */
export type PublishStep = 'made' | 'inserted' | 'published';

export interface PublisherOptions {
  redis: Redis;
  pool: Pool;
  catalogs: Pick<Catalogs, 'of' | 'atLeast'>;
  /** Called after a commit with the notifications, if there were any. */
  onMade?: (notifications: readonly Notification[]) => void;
  /** Live streams, which want every type about their users. If omitted, only webhooks and messages to users count. */
  live?: { tenants: () => Promise<ReadonlyMap<number, ListenedUsers>>; clock: Clock };
  onStep?: (step: PublishStep) => void | Promise<void>;
  onFailed?: OnPieceFailed | undefined;
}

/** The listeners of a tenant's live streams, and since when (Laurel's clock) this process knows them. */
interface Listened {
  sinceMs: number;
  /** `null` if all users are listened to. */
  users: ReadonlyMap<string, number> | null;
}

/** A tenant and a type that a receiver wants from it. */
export type Wanting<T> = WantingTenant & {
  type: T;
  /** The users about whom it is wanted, each with its own `sinceMs`; `null` for all users. */
  users: ReadonlyMap<string, number> | null;
};

/** Interval between queries for listeners. */
const LOOK_MS = 250;
const NEVER = new AbortController().signal;

/** Makes the notifications that come from the clock instead of a record. */
export class Publisher {
  readonly pool: Pool;
  private readonly options: PublisherOptions;
  /** Tenants with live listeners, by number. */
  private listened: ReadonlyMap<number, Listened> = new Map();
  /** The tenants with messages of each medium about each type, as of the last call of `wanting`. */
  private readonly messaged: Readonly<Record<Medium, Map<NotificationType, ReadonlySet<number>>>> = {
    email: new Map(),
    push: new Map(),
  };
  /** Tenants whose catalogs cannot be read or compiled. */
  private readonly unreadable: Pieces;
  private readonly unread = new Set<number>();
  /** By Laurel's clock: nothing falls due while it stands still. */
  private lookedAtMs = -Infinity;

  constructor(options: PublisherOptions) {
    this.pool = options.pool;
    this.options = options;
    this.unreadable = new Pieces({ kind: 'catalogs of notifications', onFailed: options.onFailed });
  }

  /** A tenant's catalog, at this version or a later one. */
  async catalog(tenantNo: number, version: number): Promise<CompiledCatalog> {
    await this.options.catalogs.atLeast(tenantNo, version);
    return this.options.catalogs.of(tenantNo);
  }

  /** The same; `null` if it cannot be read or compiled. For loops over tenants, of whom one must not stop the others. */
  async catalogIfReadable(tenantNo: number, version: number): Promise<CompiledCatalog | null> {
    const piece = tenantPiece(tenantNo);
    if (this.unreadable.isAside(piece.key)) return null;
    try {
      const compiled = await this.catalog(tenantNo, version);
      this.unread.delete(tenantNo);
      return compiled;
    } catch (error) {
      this.unread.add(tenantNo);
      // Reports it, and sets the tenant aside, longer each time.
      await this.unreadable.attempt(piece, NEVER, () => Promise.reject(error as Error));
      return null;
    }
  }

  /** Whether `catalogIfReadable` last failed for a tenant. */
  isUnreadable(tenantNo: number): boolean {
    return this.unread.has(tenantNo);
  }

  /** The tenants from which an enabled webhook, a message to users or a live stream wants one of the types; a row for each type. */
  async wanting<T extends NotificationType>(types: readonly T[]): Promise<Wanting<T>[]> {
    const stored = (await wantingTenants(this.pool, types)) as (WantingTenant & { type: T })[];
    const wanting: Wanting<T>[] = stored.map((one) => ({ ...one, users: null }));
    for (const type of types) {
      const ofType = stored.filter((one) => one.type === type);
      const tenantsOf = (some: typeof ofType): Set<number> => new Set(some.map(({ tenantNo }) => tenantNo));
      this.messaged.email.set(type, tenantsOf(ofType.filter(({ isEmailed }) => isEmailed)));
      this.messaged.push.set(type, tenantsOf(ofType.filter(({ isPushed }) => isPushed)));
    }
    await this.lookWhoListens();
    if (this.listened.size === 0) return wanting;
    const known = new Set(wanting.map(({ tenantNo, type }) => `${tenantNo}:${type}`));
    const versions = await catalogVersions(this.pool, [...this.listened.keys()]);
    for (const [tenantNo, { sinceMs, users }] of this.listened) {
      const version = versions.get(tenantNo);
      if (version === undefined) continue;
      for (const type of types)
        if (!known.has(`${tenantNo}:${type}`))
          wanting.push({ tenantNo, version, type, sinceMs, users, isEmailed: false, isPushed: false });
    }
    return wanting;
  }

  /** What receivers want from a tenant about a user, or about no user (`null`), as of the last call of `wanting`. */
  wants(compiled: CompiledCatalog, userId: string | null): Wants {
    const { tenantNo } = compiled.catalog;
    const listened = this.listened.get(tenantNo);
    if (listened !== undefined && (userId === null || listened.users?.has(userId) !== false)) return () => true;
    const listeners = listenersOf(compiled);
    return (type, about) => MEDIA.some((medium) => this.has(medium, tenantNo, type)) || listeners.wants(type, about);
  }

  private has(medium: Medium, tenantNo: number, type: NotificationType): boolean {
    return this.messaged[medium].get(type)?.has(tenantNo) === true;
  }

  /** The e-mail and push notification about a notification; none if no kind is about its type. */
  private messagesOf(notification: Notification): MessageToSend[] {
    const { tenantNo, type, userId, atMs, source, media, isWithheld, payload } = notification;
    const kind = KIND_OF_TYPE.get(type);
    if (kind === undefined || userId === null || media === undefined) return [];
    return media
      .filter((medium) => this.has(medium, tenantNo, type))
      .map((medium) => ({
        id: occasionMessageId(tenantNo, kind, source, medium),
        tenantNo,
        userId,
        kind,
        medium,
        atMs,
        payload,
        isWithheld: isWithheld === true,
      }));
  }

  private async lookWhoListens(): Promise<void> {
    const { live } = this.options;
    if (live === undefined) return;
    const nowMs = live.clock.now();
    // Several kinds of work ask in one pass of the schedule.
    if (Math.abs(nowMs - this.lookedAtMs) < LOOK_MS) return;
    const tenants = await live.tenants();
    this.lookedAtMs = nowMs;
    this.listened = new Map(
      [...tenants].map(([tenantNo, users]) => {
        const before = this.listened.get(tenantNo) ?? { sinceMs: nowMs, users: new Map<string, number>() };
        const sinceOf = (userId: string): number =>
          (before.users === null ? before.sinceMs : before.users.get(userId)) ?? nowMs;
        return [
          tenantNo,
          {
            sinceMs: users === null && before.users !== null ? nowMs : before.sinceMs,
            users: users && new Map([...users].map((userId) => [userId, sinceOf(userId)])),
          },
        ];
      }),
    );
  }

  /**
   * Stores the messages to webhooks and users of the notifications that `make` returns, in one transaction with what `make` writes. Like the
   * persister, the transaction holds the cursors of the tenant's shards from before `make` is called, so that messages
   * about a user are in commit order. `make` must be short. If it returns `null`, nothing is written and the result is
   * false.
   * @param nowMs Laurel's clock
   */
  async publish(
    compiled: CompiledCatalog,
    nowMs: number,
    make: (client: PoolClient) => Promise<Notification[] | null>,
  ): Promise<boolean> {
    const { redis, pool, onMade, onStep } = this.options;
    let published: Notification[] | null = null;
    await transaction(pool, async (client) => {
      await awaitCursors(
        client,
        knownParts(redis, compiled.catalog.tenantNo).map(({ shard }) => shard),
      );
      const notifications = await make(client);
      if (notifications === null) throw new Overtaken();
      await onStep?.('made');
      const listeners = listenersOf(compiled);
      const reported = notifications.filter(
        ({ media, isWithheld }) => media?.includes('email') !== false && isWithheld !== true,
      );
      const messages = reported.flatMap((notification) => listeners.messagesFor(notification));
      await insertMessages(client, messages, nowMs);
      await addMessagesToSend(
        client,
        notifications.flatMap((notification) => this.messagesOf(notification)),
      );
      await onStep?.('inserted');
      published = reported;
    }).catch((error: unknown) => {
      if (!(error instanceof Overtaken)) throw error;
    });
    const notifications = published as Notification[] | null;
    if (notifications !== null) await onStep?.('published');
    if (notifications !== null && notifications.length > 0) onMade?.(notifications);
    return notifications !== null;
  }
}

/** Another process is ahead. */
class Overtaken extends Error {}

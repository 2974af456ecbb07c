import type { Redis } from 'ioredis';
import { hash } from 'node:crypto';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { isWanted } from '../../catalog/rules/webhook.ts';
import type { Webhook } from '../../domain/catalog.ts';
import type {
  NewMessage,
  Notification,
  NotificationSubject,
  NotificationType,
} from '../../domain/notifications/notification.ts';
import { uuidText } from '../../domain/schemas.ts';
import { AWARD, RECORD, RECORDED_POINTS } from '../../packed/record-fields.ts';
import type { HappenedRecord } from '../../packed/record.ts';
import { connectionOf } from '../../redis/endpoints.ts';
import { type ListenedUsers, listenedTenants } from '../../redis/live-streams.ts';
import type { Wants } from './rules.ts';

export interface Listeners {
  /** Whether an enabled webhook wants notifications of a type; with a subject, those about it. */
  readonly wants: Wants;
  /** A message for each enabled webhook that wants the notification, oldest webhook first. */
  readonly messagesFor: (notification: Notification) => NewMessage[];
}

const known = new WeakMap<CompiledCatalog, Listeners>();

export function listenersOf(compiled: CompiledCatalog): Listeners {
  let listeners = known.get(compiled);
  if (listeners === undefined) known.set(compiled, (listeners = listenersAmong(compiled.catalog.webhooks)));
  return listeners;
}

function listenersAmong(webhooks: readonly Webhook[]): Listeners {
  const types = new Set(webhooks.flatMap(({ enabled, events }) => (enabled ? events : [])));
  const wanting = (type: NotificationType, about: NotificationSubject): Webhook[] =>
    types.has(type) ? webhooks.filter((webhook) => isWanted(webhook, type, about)) : [];
  return {
    wants: (type, about) => (about === undefined ? types.has(type) : wanting(type, about).length > 0),
    messagesFor: ({ type, tenantNo, userId, atMs, source, about, payload }) =>
      wanting(type, about).map(({ id: webhookId }) => ({
        id: messageId({ webhookId, type, source }),
        webhookId,
        tenantNo,
        type,
        userId,
        atMs,
        payload,
      })),
  };
}

const VERSION_8 = 0x80;
const VARIANT = 0x80;

/** A UUID of version 8 from a SHA-256 of the fields, so a message that is made again has the same ID. */
export function messageId(message: { webhookId: string; type: NotificationType; source: string }): string {
  const { webhookId, type, source } = message;
  const digest = hash('sha256', `${webhookId}\0${type}\0${source}`, 'buffer');
  digest[6] = (digest[6]! & 0x0f) | VERSION_8;
  digest[8] = (digest[8]! & 0x3f) | VARIANT;
  return uuidText(digest.toString('hex', 0, 16));
}

const LOOK_MS = 500;

interface Audience {
  tenants: ReadonlyMap<number, ListenedUsers>;
  askedAtMs: number;
}

/**
 * Caches which tenants' live streams have listeners, for work that happens many times a second. Each server is asked about
 * its own shards only, so that one which does not answer delays no others.
 */
export function createLiveAudience(redis: Redis) {
  const byServer = new WeakMap<Redis, Audience>();

  /**
   * The users with listeners, by tenant number, as the server of a shard has them. At most half a second old unless the
   * query fails. Never rejects.
   */
  async function tenants(shard: number): Promise<ReadonlyMap<number, ListenedUsers>> {
    const server = connectionOf(redis, shard);
    let audience = byServer.get(server);
    if (audience === undefined) byServer.set(server, (audience = { tenants: new Map(), askedAtMs: -Infinity }));
    const nowMs = performance.now();
    if (nowMs - audience.askedAtMs < LOOK_MS) return audience.tenants;
    audience.askedAtMs = nowMs;
    try {
      audience.tenants = await listenedTenants(redis, shard);
    } catch {
      // Their notifications are also stored without listeners.
    }
    return audience.tenants;
  }

  return { tenants };
}

export type LiveAudience = ReturnType<typeof createLiveAudience>;

const MOST = 2 ** 31 - 1;

/** The numbers of the achievements, points systems, triggers and boosts that a record names; none if the record is damaged. */
export function numbersIn(record: HappenedRecord): number[] {
  try {
    return named(record).filter((no) => Number.isInteger(no) && no > 0 && no <= MOST);
  } catch {
    return [];
  }
}

const named = (record: HappenedRecord): number[] => [
  ...(record[RECORD.completed] ?? []),
  ...(record[RECORD.points] ?? []).flatMap((points) => [
    points[RECORDED_POINTS.system],
    ...points[RECORDED_POINTS.awards].flatMap((award) => [award[AWARD.trigger], ...award[AWARD.boosts]]),
  ]),
];

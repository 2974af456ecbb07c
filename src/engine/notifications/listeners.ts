/** Who receives a notification: webhooks and live streams. */
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
import type { ListenedUsers } from '../../redis/live-streams.ts';
import type { Wants } from './rules.ts';

/** Who is to hear of a tenant's notifications, by one version of its catalog. */
export interface Listeners {
  /** No enabled webhook is there. */
  readonly none: boolean;
  /** Whether an enabled webhook wants notifications of a type; with a subject: those about it. */
  readonly wants: Wants;
  /** A message for each enabled webhook that wants the notification, oldest webhook first. */
  readonly messagesFor: (notification: Notification) => NewMessage[];
}

const known = new WeakMap<CompiledCatalog, Listeners>();

/** The listeners of a tenant: made once for each version of its catalog. */
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
    none: types.size === 0,
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

/**
 * ID of the message that a notification becomes for a webhook: a UUID of version 8 (RFC 9562) from a SHA-256 of the
 * three, so that a message that is made again, after a crash or in another process, has the same. `source`: of the
 * notification.
 */
export function messageId({
  webhookId,
  type,
  source,
}: {
  webhookId: string;
  type: NotificationType;
  source: string;
}): string {
  const digest = hash('sha256', `${webhookId}\0${type}\0${source}`, 'buffer');
  digest[6] = (digest[6]! & 0x0f) | VERSION_8;
  digest[8] = (digest[8]! & 0x3f) | VARIANT;
  return uuidText(digest.toString('hex', 0, 16));
}

/** Who listens is asked again after so long. */
const LOOK_MS = 500;

/** The tenants whose live streams somebody listens to, for work that goes on many times a second. */
export class LiveAudience {
  private readonly ask: () => Promise<ReadonlyMap<number, ListenedUsers>>;
  private known: ReadonlyMap<number, ListenedUsers> = new Map();
  private askedAtMs = -Infinity;

  /** `ask`: the users of the tenants, by the tenants' numbers. */
  constructor(ask: () => Promise<ReadonlyMap<number, ListenedUsers>>) {
    this.ask = ask;
  }

  /**
   * The users whose streams are listened to, by their tenants' numbers, as they were half a second ago at most; longer ago
   * while they cannot be asked for. Never rejects.
   */
  async tenants(): Promise<ReadonlyMap<number, ListenedUsers>> {
    const nowMs = performance.now();
    if (nowMs - this.askedAtMs < LOOK_MS) return this.known;
    this.askedAtMs = nowMs;
    try {
      this.known = await this.ask();
    } catch {
      // What they would hear of is also stored without them.
    }
    return this.known;
  }
}

const MOST = 2 ** 31 - 1;

/** The numbers of the achievements, points systems, triggers and boosts that a record names; of one that is damaged, none. */
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

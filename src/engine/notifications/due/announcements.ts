import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { Notification } from '../../../domain/notification.ts';
import {
  beginProgress,
  endProgress,
  moveNotificationProgress,
  notificationProgress,
  type NotificationProgress,
} from '../../../postgres/notifications/progress.ts';
import type { WantingTenant } from '../../../postgres/notifications/announcements.ts';
import type { ScheduledWork } from '../../schedule/due-work.ts';
import { Pieces, tenantPiece, type OnPieceFailed } from '../../schedule/pieces.ts';
import { ANNOUNCED, announcedNext, type Announcement } from './announced.ts';
import { Announcer } from './announcer.ts';
import type { BoardRankings } from './board-rankings.ts';
import type { Publisher } from './publisher.ts';
import type { Redis } from 'ioredis';

export interface AnnouncementsOptions {
  publisher: Publisher;
  redis: Redis;
  rankings: BoardRankings;
  /** Called when a tenant's announcements cannot be made. */
  onFailed?: OnPieceFailed;
}

const KIND = 'announcements';
/** A tenant's progress is moved this often where nothing is announced: what is switched on later does not look back beyond. */
const MOVED_EVERY_MS = 3_600_000;

/** A tenant with what it announces next. */
interface Next {
  progress: NotificationProgress;
  compiled: CompiledCatalog;
  announcements: Announcement[];
}

/**
 * Starts and ends of leaderboards and boosts: 10:00 UTC on the day before, 13:00 UTC on the day after, of each run of a
 * repeating board. How far a tenant's are made is a row that moves in the transaction that stores their messages. A tenant
 * that fails is set aside, and the others go on.
 */
export class Announcements implements ScheduledWork {
  readonly name = 'announced starts and ends';
  private readonly options: AnnouncementsOptions;
  private readonly announcer: Announcer;
  private readonly pieces: Pieces;

  constructor(options: AnnouncementsOptions) {
    this.options = options;
    this.announcer = new Announcer({ ...options, pool: options.publisher.pool });
    this.pieces = new Pieces({ kind: this.name, onFailed: options.onFailed });
  }

  get aside(): string[] {
    return this.pieces.aside.map(({ name }) => name);
  }

  async due(upToMs: number): Promise<number | null> {
    const { pool } = this.options.publisher;
    const wanting = byTenant(await this.options.publisher.wanting(ANNOUNCED));
    const progress = await notificationProgress(pool, [KIND]);
    await endProgress(
      pool,
      progress.filter(({ tenantNo }) => !wanting.has(tenantNo)),
    );
    const known = new Set(progress.map(({ tenantNo }) => tenantNo));
    const begun = [...wanting.values()].filter(({ tenantNo }) => !known.has(tenantNo));
    await beginProgress(
      pool,
      begun.map(({ tenantNo, sinceMs }) => ({ tenantNo, kind: KIND, zone: '', doneMs: Math.min(sinceMs, upToMs) })),
    );
    const isAsBefore = begun.length === 0 && progress.length === wanting.size;
    const next = isAsBefore ? await this.nextOf(wanting, progress) : await this.next();
    const dueMs = firstOf(next, upToMs);
    if (dueMs === null)
      for (const row of progress)
        if (upToMs - row.doneMs > MOVED_EVERY_MS && this.isFollowed(row, wanting))
          await moveNotificationProgress(pool, row, { doneMs: upToMs, lastUser: '' });
    return dueMs;
  }

  async upcoming(untilMs: number): Promise<number | null> {
    return firstOf(await this.next(), untilMs);
  }

  async perform(dueMs: number, ending: AbortSignal, beforeMs: number, upToMs: number): Promise<void> {
    const lastMs = Math.max(dueMs, beforeMs - 1);
    for (const { progress, compiled, announcements } of await this.next()) {
      const { atMs } = announcements[0]!;
      if (ending.aborted || atMs > lastMs) continue;
      await this.pieces.attempt(tenantPiece(progress.tenantNo), ending, async () => {
        const notifications: Notification[] = [];
        for (const each of announcements) notifications.push(...(await this.announcer.notifications(compiled, each)));
        await this.options.publisher.publish(compiled, upToMs, async (client) => {
          const moved = await moveNotificationProgress(client, progress, { doneMs: atMs, lastUser: '' });
          return moved ? notifications : null;
        });
      });
    }
  }

  private isFollowed({ tenantNo }: NotificationProgress, wanting: ReadonlyMap<number, WantingTenant>): boolean {
    return wanting.has(tenantNo) && !this.pieces.isAside(String(tenantNo));
  }

  /** What each tenant announces next; those that announce nothing are left out. */
  private async next(): Promise<Next[]> {
    const { publisher } = this.options;
    const wanting = byTenant(await publisher.wanting(ANNOUNCED));
    return this.nextOf(wanting, await notificationProgress(publisher.pool, [KIND]));
  }

  private async nextOf(
    wanting: ReadonlyMap<number, WantingTenant>,
    known: readonly NotificationProgress[],
  ): Promise<Next[]> {
    const { publisher } = this.options;
    const found: Next[] = [];
    for (const progress of known) {
      const { tenantNo, doneMs } = progress;
      const wanted = wanting.get(tenantNo);
      if (wanted === undefined || !this.isFollowed(progress, wanting)) continue;
      const compiled = await publisher.catalog(tenantNo, wanted.version);
      const announcements = announcedNext(compiled, doneMs, publisher.wants(compiled, null));
      if (announcements.length > 0) found.push({ progress, compiled, announcements });
    }
    return found;
  }
}

/** When the first of them is announced, not after a time; null: none is. */
function firstOf(next: readonly Next[], untilMs: number): number | null {
  const dueMs = Math.min(...next.map(({ announcements }) => announcements[0]!.atMs));
  return dueMs <= untilMs ? dueMs : null;
}

/** One row a tenant: since when any of the types is wanted. */
function byTenant(wanting: readonly WantingTenant[]): Map<number, WantingTenant> {
  const found = new Map<number, WantingTenant>();
  for (const each of wanting) {
    const known = found.get(each.tenantNo);
    if (known === undefined || each.sinceMs < known.sinceMs) found.set(each.tenantNo, each);
  }
  return found;
}

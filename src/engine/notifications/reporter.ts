import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { Catalogs } from '../../catalog/catalogs.ts';
import { type CompiledCatalog, withDeleted } from '../../catalog/compiled-catalog.ts';
import { systemClock, type Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import type { NewMessage, Notification } from '../../domain/notifications/notification.ts';
import { TYPE_OF_KIND } from '../../domain/notifications/message-variables.ts';
import type { Revisions } from '../../postgres/revisions.ts';
import type { ListenedUsers } from '../../redis/live-streams.ts';
import { addRanks } from '../leaderboards/wide-ranks.ts';
import { type Listening, readListening } from '../../postgres/webhooks/messages.ts';
import { type EntryReport, entryReport, type HappenedEntry, type NotedCompletion } from './entry-notifications.ts';
import { type Listeners, listenersOf, type LiveAudience, numbersIn } from './listeners.ts';
import type { Wants } from './rules.ts';

export interface ReporterOptions {
  redis: Redis;
  pool: Pool;
  catalogs: Catalogs;
  clock?: Clock;
  /** Notes completions for the e-mails that live streams report, in addition to those of tenants with webhooks. */
  live?: LiveAudience;
  /** Called with the error for each part that could not be reported. */
  onLeftOut: (error: unknown) => void;
}

export interface Report extends EntryReport {
  messagesFor: (notification: Notification) => NewMessage[];
  /** The revisions at which the webhooks were read. */
  revisions: Revisions;
}

/** Everything needed to report some entries, without further queries. */
export interface Reporting {
  reportOf(entries: readonly HappenedEntry[]): Report;
}

interface Heard {
  compiled: CompiledCatalog;
  listeners: Listeners;
  /** What webhooks, e-mails and push notifications want. */
  wants: Wants;
  /** Whether a user's streams have listeners, for which completions must be noted. */
  isListened: (userId: string) => boolean;
  concerns: (entry: HappenedEntry) => boolean;
}

/** The message that a change causes; its completion is noted. */
const MESSAGED_CHANGE = TYPE_OF_KIND.achievement_completed;

const NOBODY: ReadonlyMap<number, ListenedUsers> = new Map();

const hasUser = ({ states }: HappenedEntry, isOne: (userId: string) => boolean): boolean =>
  states.some((each, at) => at % 2 === 0 && isOne(each.toString('utf8')));

/** Whether a report was made for the webhooks at some revisions. */
export const isOf = ({ revisions }: Report, { organisation, catalogs }: Revisions): boolean =>
  revisions.organisation === organisation && revisions.catalogs === catalogs;

/**
 * Turns outbox entries into messages for webhooks. A tenant without an enabled webhook, messages about achievements and live
 * listeners costs a map look-up; its catalog is not loaded. If only some users' streams have listeners, entries about other users are skipped.
 * The webhooks are read at some revisions, which the transaction that stores the report compares with its own. So a webhook
 * receives everything that is stored after its creation. Errors in reports never prevent entries from being stored.
 */
export class Reporter {
  private readonly options: ReporterOptions;
  private listening: Listening | null = null;

  constructor(options: ReporterOptions) {
    this.options = options;
  }

  now(): number {
    return (this.options.clock ?? systemClock).now();
  }

  leaveOut(error: unknown): void {
    this.options.onLeftOut(error);
  }

  /** Reads the receivers. Throws errors of Postgres. */
  async refresh(): Promise<void> {
    this.listening = await readListening(this.options.pool);
  }

  /** Prepares the reports of some entries of a shard. Throws errors of Postgres only. */
  async prepare(shard: number, entries: readonly HappenedEntry[]): Promise<Reporting> {
    if (this.listening === null) await this.refresh();
    const listening = this.listening!;
    const live = (await this.options.live?.tenants(shard)) ?? NOBODY;
    const heard = new Map<number, Heard>();
    const isHeard = listening.tenants.size > 0 || live.size > 0;
    for (const tenantNo of isHeard ? new Set(entries.map((entry) => entry.tenantNo)) : []) {
      const version = listening.tenants.get(tenantNo);
      const users = live.get(tenantNo);
      const isListened = (userId: string): boolean => users === null || users?.has(userId) === true;
      const concerns = (entry: HappenedEntry): boolean => version !== undefined || hasUser(entry, isListened);
      const its = entries.filter((entry) => entry.tenantNo === tenantNo && concerns(entry));
      if (its.length === 0) continue;
      const isMessaged = listening.messaged.has(tenantNo);
      const hearing = await this.hear(tenantNo, version ?? 0, isMessaged, its);
      if (hearing !== null) await this.rank(hearing.compiled, its);
      if (hearing !== null) heard.set(tenantNo, { ...hearing, isListened, concerns });
    }
    return { reportOf: (some) => this.reportOf(some, heard, listening) };
  }

  private reportOf(
    entries: readonly HappenedEntry[],
    heard: ReadonlyMap<number, Heard>,
    { controlShare, revisions }: Listening,
  ): Report {
    const notifications: Notification[] = [];
    const completions: NotedCompletion[] = [];
    for (const entry of heard.size === 0 ? [] : entries) {
      const tenant = heard.get(entry.tenantNo);
      if (tenant === undefined || !tenant.concerns(entry)) continue;
      const { compiled, wants, isListened } = tenant;
      const context = { compiled, controlShare, wants, isListened };
      const entryResult = entryReport(context, entry, this.options.onLeftOut);
      notifications.push(...entryResult.notifications);
      completions.push(...entryResult.completions);
    }
    const messagesFor = (each: Notification): NewMessage[] =>
      heard.get(each.tenantNo)?.listeners.messagesFor(each) ?? [];
    return { notifications, completions, messagesFor, revisions };
  }

  /** Adds the ranks that a wide tenant's records lack. Without a part's shard, they stay unranked and are not reported. */
  private async rank(compiled: CompiledCatalog, entries: readonly HappenedEntry[]): Promise<void> {
    const { redis, onLeftOut } = this.options;
    await addRanks(
      redis,
      compiled,
      entries.flatMap(({ records }) => records),
    ).catch(onLeftOut);
  }

  /** A tenant's catalog, at least of a version, including deleted resources that the entries name. */
  private async hear(
    tenantNo: number,
    version: number,
    isMessaged: boolean,
    entries: readonly HappenedEntry[],
  ): Promise<Pick<Heard, 'compiled' | 'listeners' | 'wants'> | null> {
    const { pool, catalogs, onLeftOut } = this.options;
    try {
      await catalogs.atLeast(tenantNo, version);
      const current = await catalogs.of(tenantNo);
      const compiled = await withDeleted(
        pool,
        current,
        entries.flatMap(({ records }) => records.flatMap(numbersIn)),
      );
      const listeners = listenersOf(current);
      const wants: Wants = (type, about) => (isMessaged && type === MESSAGED_CHANGE) || listeners.wants(type, about);
      return { compiled, listeners, wants: isMessaged ? wants : listeners.wants };
    } catch (error) {
      if (!isOfCatalog(error)) throw error;
      onLeftOut(error);
      return null;
    }
  }
}

/** Whether an error does not come from Postgres: the tenant is gone, or its catalog cannot be compiled. */
const isOfCatalog = (error: unknown): boolean =>
  error instanceof AppError || error instanceof TypeError || error instanceof RangeError;

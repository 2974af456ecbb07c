import type { Pool } from 'pg';
import type { Catalogs } from '../../catalog/catalogs.ts';
import { type CompiledCatalog, withDeleted } from '../../catalog/compiled-catalog.ts';
import { systemClock, type Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import type { NewMessage, Notification } from '../../domain/notifications/notification.ts';
import type { Revisions } from '../../postgres/revisions.ts';
import type { ListenedUsers } from '../../redis/live-streams.ts';
import { type Listening, readListening } from '../../postgres/webhooks/messages.ts';
import { type EntryReport, fromEntry, type HappenedEntry, type NotedCompletion } from './entry-notifications.ts';
import { type Listeners, listenersOf, type LiveAudience, numbersIn } from './listeners.ts';

export interface ReporterOptions {
  pool: Pool;
  catalogs: Catalogs;
  clock?: Clock;
  /** Whose completions are noted for the e-mails that live streams report, beside those of tenants with a webhook that wants them. */
  live?: LiveAudience;
  /** Called for each thing that could not be reported, with why. */
  onLeftOut: (error: unknown) => void;
}

/** What some entries report. */
export interface Report extends EntryReport {
  /** The messages of a notification, to those who listen. */
  messagesFor: (notification: Notification) => NewMessage[];
  /** As of which revisions they listen. */
  revisions: Revisions;
}

/** Everything that the reports of some entries take: no more is asked of Postgres. */
export interface Reporting {
  /** What some of the entries report, in their order. */
  reportOf(entries: readonly HappenedEntry[]): Report;
}

interface Heard {
  compiled: CompiledCatalog;
  listeners: Listeners;
  /** Whether somebody listens to the live streams of a user: these make everything from records themselves, but completions are noted. */
  isListened: (userId: string) => boolean;
  /** Whether somebody wants to know of an entry. */
  concerns: (entry: HappenedEntry) => boolean;
}

const NOBODY: ReadonlyMap<number, ListenedUsers> = new Map();

/** Whether an entry touched a user. */
const hasUser = ({ states }: HappenedEntry, isOne: (userId: string) => boolean): boolean =>
  states.some((each, at) => at % 2 === 0 && isOne(each.toString('utf8')));

/** Whether a report is by the webhooks as of some revisions. */
export const isOf = ({ revisions }: Report, { organisation, catalogs }: Revisions): boolean =>
  revisions.organisation === organisation && revisions.catalogs === catalogs;

/**
 * Makes what the outbox holds into what webhooks are to hear of. Tenants without an enabled webhook, and without anybody who
 * listens to their live streams, cost a look at a map: no catalog is loaded for them. Where only some users' streams are listened
 * to, the entries of others are passed over. Who listens is as of some revisions, which are compared with those of the transaction that
 * stores the report: so a webhook hears of everything that is stored after it was created. Whatever cannot be reported
 * is left out, and never keeps anything from being stored.
 */
export class Reporter {
  private readonly options: ReporterOptions;
  private listening: Listening | null = null;

  constructor(options: ReporterOptions) {
    this.options = options;
  }

  /** Laurel's time. */
  now(): number {
    return (this.options.clock ?? systemClock).now();
  }

  /** Something could not be stored with what it reports. */
  leaveOut(error: unknown): void {
    this.options.onLeftOut(error);
  }

  /** Reads who listens. Errors of Postgres. */
  async refresh(): Promise<void> {
    this.listening = await readListening(this.options.pool);
  }

  /** Makes ready for the reports of some entries. Errors of Postgres only. */
  async prepare(entries: readonly HappenedEntry[]): Promise<Reporting> {
    if (this.listening === null) await this.refresh();
    const listening = this.listening!;
    const live = (await this.options.live?.tenants()) ?? NOBODY;
    const heard = new Map<number, Heard>();
    const isHeard = listening.tenants.size > 0 || live.size > 0;
    for (const tenantNo of isHeard ? new Set(entries.map((entry) => entry.tenantNo)) : []) {
      const version = listening.tenants.get(tenantNo);
      const users = live.get(tenantNo);
      const isListened = (userId: string): boolean => users === null || users?.has(userId) === true;
      const concerns = (entry: HappenedEntry): boolean => version !== undefined || hasUser(entry, isListened);
      const its = entries.filter((entry) => entry.tenantNo === tenantNo && concerns(entry));
      if (its.length === 0) continue;
      const found = await this.hear({ tenantNo, version: version ?? 0, entries: its });
      if (found !== null) heard.set(tenantNo, { ...found, isListened, concerns });
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
      const { compiled, listeners, isListened } = tenant;
      const context = { compiled, controlShare, wants: listeners.wants, isListened };
      const made = fromEntry(context, entry, this.options.onLeftOut);
      notifications.push(...made.notifications);
      completions.push(...made.completions);
    }
    const messagesFor = (each: Notification): NewMessage[] =>
      heard.get(each.tenantNo)?.listeners.messagesFor(each) ?? [];
    return { notifications, completions, messagesFor, revisions };
  }

  /** A tenant's catalog, at least of a version, with what was deleted from it that the entries name. */
  private async hear({
    tenantNo,
    version,
    entries,
  }: {
    tenantNo: number;
    version: number;
    entries: readonly HappenedEntry[];
  }): Promise<Pick<Heard, 'compiled' | 'listeners'> | null> {
    const { pool, catalogs, onLeftOut } = this.options;
    try {
      await catalogs.atLeast(tenantNo, version);
      const current = await catalogs.of(tenantNo);
      const compiled = await withDeleted(
        pool,
        current,
        entries.flatMap(({ records }) => records.flatMap(numbersIn)),
      );
      return { compiled, listeners: listenersOf(current) };
    } catch (error) {
      if (!isOfCatalog(error)) throw error;
      onLeftOut(error);
      return null;
    }
  }
}

/** Whether an error is none of Postgres: a tenant that is gone, or a catalog that cannot be compiled. */
const isOfCatalog = (error: unknown): boolean =>
  error instanceof AppError || error instanceof TypeError || error instanceof RangeError;

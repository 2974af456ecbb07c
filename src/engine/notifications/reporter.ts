import type { Pool } from 'pg';
import type { Catalogs } from '../../catalog/catalogs.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { withDeleted } from '../../catalog/with-deleted.ts';
import { systemClock, type Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import type { NewMessage, Notification } from '../../domain/notification.ts';
import type { Revisions } from '../../postgres/revisions.ts';
import { readListening, type Listening } from '../../postgres/webhooks/read-listening.ts';
import { fromEntry, type EntryReport, type HappenedEntry } from './from-entry.ts';
import { listenersOf, type Listeners } from './listeners.ts';
import type { LiveAudience } from './live-audience.ts';
import type { NotedCompletion } from './note-due.ts';
import { numbersIn } from './numbers-in.ts';
import type { Wants } from './rules/change.ts';

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
  wants: Wants;
}

const NOBODY: ReadonlySet<number> = new Set();

/** What is to be made where live streams are listened to: they make everything from records themselves, but completions are noted. */
const withNoted =
  (wants: Wants): Wants =>
  (type, about) =>
    type === 'emails.achievement_due' || wants(type, about);

/** Whether a report is by the webhooks as of some revisions. */
export const isOf = ({ revisions }: Report, { organisation, catalogs }: Revisions): boolean =>
  revisions.organisation === organisation && revisions.catalogs === catalogs;

/**
 * Makes what the outbox holds into what webhooks are to hear of. Tenants without an enabled webhook, and without anybody who
 * listens to their live streams, cost a look at a map: no catalog is loaded for them. Who listens is as of some revisions, which are compared with those of the transaction that
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
      const version = listening.tenants.get(tenantNo) ?? (live.has(tenantNo) ? 0 : undefined);
      if (version === undefined) continue;
      const its = entries.filter((entry) => entry.tenantNo === tenantNo);
      const found = await this.hear({ tenantNo, version, entries: its });
      if (found === null) continue;
      const { wants } = found.listeners;
      heard.set(tenantNo, { ...found, wants: live.has(tenantNo) ? withNoted(wants) : wants });
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
      if (tenant === undefined) continue;
      const context = { compiled: tenant.compiled, controlShare, wants: tenant.wants };
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
  }): Promise<Omit<Heard, 'wants'> | null> {
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

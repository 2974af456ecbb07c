import type { Pool } from 'pg';
import type { Catalogs } from '../../catalog/catalogs.ts';
import type { Clock } from '../../clock.ts';
import type { MessageSettings } from '../../domain/notifications/message-settings.ts';
import { AppError } from '../../errors.ts';
import { HIDDEN_BY } from '../../packed/user-fields.ts';
import { lockSent, recordSeen, type SeenTimes, type SentMessage } from '../../postgres/notifications/seen-messages.ts';
import { transaction } from '../../postgres/transaction.ts';
import { type Rounds, rounds } from '../../pacing/rounds.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { type Log, LogThrottle } from '../../telemetry/log.ts';
import type { MessageOfTenant } from './tracking-links.ts';

/** What a user did with a message. */
export type Seen = keyof SeenTimes;

/**
 * How a report ended. `repeated`: known already. `ignored`: the tenant does not track it, the message is unknown, or an
 * administrator hides the user. `lost`: Postgres was away for too long, or an app reported too much about one user.
 */
export type SeenOutcome = Seen | 'repeated' | 'ignored' | 'lost';

export interface Report extends MessageOfTenant {
  /** The message must be to this user; absent: the report was signed by Laurel. */
  userId?: string;
}

interface Noted extends Report {
  seen: Seen;
  atMs: number;
}

export interface SeenMessagesOptions {
  pool: Pool;
  clock: Clock;
  catalogs: Pick<Catalogs, 'of'>;
  log: Log;
  onOutcome: (outcome: SeenOutcome, count: number) => void;
}

/** Reports wait this long for others, so that a process writes seldom however many come. */
const WAIT_MS = 500;
const RETRY_MS = 2_000;
const REPEAT_MS = 60_000;
/** Reports in a transaction. */
const AT_ONCE = 500;
/** Reports that wait for Postgres, and those of an app about one user, who may send any number of IDs. */
const MOST_WAITING = 10_000;
const MOST_OF_USER = 20;
/** Reports that are remembered, so that repeated ones reach no database. */
const MOST_KNOWN = 50_000;

const IS_TRACKED: Readonly<Record<Seen, (settings: MessageSettings) => boolean>> = {
  opened: ({ trackOpens }) => trackOpens,
  clicked: ({ trackClicks }) => trackClicks,
  unsubscribed: () => true,
};

/**
 * Records what users did with messages, aside from their requests: `note` only remembers it, and one transaction for all reports of
 * half a second follows. Each message has one time of each kind, the first. Reports of a process that is killed meanwhile are lost.
 */
export class SeenMessages {
  private readonly options: SeenMessagesOptions;
  private readonly waiting = new Map<string, Noted>();
  private readonly known = new Set<string>();
  /** How many reports of apps wait, by user. */
  private readonly ofUsers = new Map<string, number>();
  private readonly rounds: Rounds;
  private readonly logThrottle = new LogThrottle(REPEAT_MS);

  constructor(options: SeenMessagesOptions) {
    this.options = options;
    this.rounds = rounds(() => this.round());
  }

  note(seen: Seen, { tenantNo, id, userId }: Report): void {
    const { clock, onOutcome } = this.options;
    const key = `${seen}:${tenantNo}:${id}:${userId ?? ''}`;
    if (this.known.has(key)) return onOutcome('repeated', 1);
    const user = userId === undefined ? null : `${tenantNo}:${userId}`;
    const ofUser = user === null ? 0 : (this.ofUsers.get(user) ?? 0);
    if (this.waiting.size >= MOST_WAITING || ofUser >= MOST_OF_USER) return onOutcome('lost', 1);
    if (user !== null) this.ofUsers.set(user, ofUser + 1);
    if (this.known.size >= MOST_KNOWN)
      for (const oldest of [...this.known].slice(0, MOST_KNOWN / 2)) this.known.delete(oldest);
    this.known.add(key);
    this.waiting.set(key, { seen, tenantNo, id, ...(userId !== undefined && { userId }), atMs: clock.now() });
    this.rounds.wake(WAIT_MS);
  }

  /** Records what waits, if Postgres answers. */
  async close(): Promise<void> {
    await this.rounds.close();
    while (this.waiting.size > 0 && (await this.round()) !== RETRY_MS);
  }

  /** Records some reports. Never rejects. */
  private async round(): Promise<number> {
    const reports = [...this.waiting].slice(0, AT_ONCE);
    if (reports.length === 0) return Infinity;
    const { tracked, ignored, failed } = await this.tracked(reports.map(([, report]) => report));
    try {
      await this.record(tracked);
    } catch (error) {
      this.warn(error);
      return RETRY_MS;
    }
    this.options.onOutcome('ignored', ignored);
    const again = new Set(failed);
    for (const [key, report] of reports) {
      this.waiting.delete(key);
      // Behind the others, so that a tenant whose settings cannot be read holds up no other one.
      if (again.has(report)) this.waiting.set(key, report);
      else this.forgetOne(report);
    }
    if (this.waiting.size === 0) return Infinity;
    return failed.length > 0 ? RETRY_MS : WAIT_MS;
  }

  private forgetOne({ tenantNo, userId }: Noted): void {
    if (userId === undefined) return;
    const user = `${tenantNo}:${userId}`;
    const unrecorded = this.ofUsers.get(user)! - 1;
    if (unrecorded === 0) this.ofUsers.delete(user);
    else this.ofUsers.set(user, unrecorded);
  }

  /** The reports that their tenants want, and those of tenants whose settings cannot be read at the moment. */
  private async tracked(reports: readonly Noted[]): Promise<{ tracked: Noted[]; ignored: number; failed: Noted[] }> {
    const settings = new Map<number, MessageSettings | null | undefined>();
    for (const { tenantNo } of reports)
      if (!settings.has(tenantNo)) settings.set(tenantNo, await this.settingsOf(tenantNo));
    const failed = reports.filter(({ tenantNo }) => settings.get(tenantNo) === undefined);
    const tracked = reports.filter(({ tenantNo, seen }) => {
      const known = settings.get(tenantNo);
      return known !== null && known !== undefined && IS_TRACKED[seen](known);
    });
    return { tracked, ignored: reports.length - failed.length - tracked.length, failed };
  }

  /** `null` for a tenant that is gone, `undefined` if they cannot be read. */
  private async settingsOf(tenantNo: number): Promise<MessageSettings | null | undefined> {
    try {
      return (await this.options.catalogs.of(tenantNo)).catalog.messages;
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') return null;
      this.warn(error);
      return undefined;
    }
  }

  private async record(reports: readonly Noted[]): Promise<void> {
    if (reports.length === 0) return;
    const { pool, onOutcome } = this.options;
    const counts = { opened: 0, clicked: 0, unsubscribed: 0, ignored: 0, repeated: 0 };
    await transaction(pool, async (client) => {
      const sent = await lockSent(client, [...new Set(reports.map(({ id }) => id))]);
      const changed = new Map<string, { id: string } & SeenTimes>();
      for (const report of reports) {
        const message = sent.get(report.id);
        if (message === undefined || !isAbout(report, message)) counts.ignored += 1;
        else if (message[report.seen] !== null) counts.repeated += 1;
        else {
          const times = changed.get(report.id) ?? { id: report.id, opened: null, clicked: null, unsubscribed: null };
          changed.set(report.id, { ...times, [report.seen]: report.atMs });
          message[report.seen] = report.atMs;
          counts[report.seen] += 1;
        }
      }
      await recordSeen(client, [...changed.values()]);
    });
    for (const [outcome, count] of Object.entries(counts)) onOutcome(outcome as SeenOutcome, count);
  }

  private warn(error: unknown): void {
    const { log } = this.options;
    const text = 'opened and clicked messages are not recorded at the moment; it is tried again';
    this.logThrottle.log('', (suppressed) => log.warn({ err: error, suppressed }, text));
  }
}

/** Whether a report may change a message: nothing is recorded about users whom an administrator hides. */
const isAbout = ({ tenantNo, userId }: Report, message: SentMessage): boolean =>
  message.tenantNo === tenantNo && (userId === undefined || message.userId === userId) && !isHidden(message.state);

/** One user's state that cannot be read must not hold up the reports about others. */
function isHidden(state: Buffer): boolean {
  try {
    return (decodeUser(state).hidden & HIDDEN_BY.admin) !== 0;
  } catch {
    return true;
  }
}

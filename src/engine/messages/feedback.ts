import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { Catalogs } from '../../catalog/catalogs.ts';
import type { Clock } from '../../clock.ts';
import {
  FEEDBACK_STATUSES,
  type FeedbackCounts,
  type FeedbackFormat,
  MOST_REPORTS,
  readReport,
  type Report,
  reportEntries,
  WEIGHTS,
} from '../../domain/notifications/message-feedback.ts';
import { AppError } from '../../errors.ts';
import {
  handedOver,
  noteReceived,
  recordFeedback,
  type ReportedMessage,
  usersWithAddress,
} from '../../postgres/notifications/message-feedback.ts';
import { suppressAddress } from '../../postgres/notifications/message-suppressions.ts';
import type { User } from '../../rules/user.ts';
import type { UserProfiles } from '../users/user-profiles.ts';
import { readState } from './prepare-email.ts';
import type { SignedTokens } from './signed-tokens.ts';
import { endEmails } from './unsubscribe.ts';

export interface FeedbackOptions {
  redis: Redis;
  pool: Pool;
  clock: Clock;
  tokens: SignedTokens;
  catalogs: Pick<Catalogs, 'of'>;
  profiles: Pick<UserProfiles, 'preferences' | 'updatePreferences'>;
  /** Whether the tenant is active. */
  isTenant: (tenantNo: number) => boolean;
  onReport: (outcome: keyof FeedbackCounts, count: number) => void;
}

/** Requests of a tenant that a process handles at a time. */
const MOST_AT_A_TIME = 2;
/** Users with one address to whom a report without an e-mail's ID applies. */
const MOST_USERS = 10;
const REASON_LENGTH = 300;

/** An e-mail or address that a report is about. */
interface Subject {
  report: Report;
  userId: string;
  /** The e-mail's ID; `null` for a report about an address. */
  id: string | null;
}

/**
 * Takes the reports of mail providers about e-mails that they took. Bounces for good and complaints suppress the address, and
 * a complaint ends all e-mails to the user. Idempotent, and the order of reports does not matter: effects come before the
 * e-mail's record, and a report that weighs no more than the recorded one changes nothing.
 */
export function createFeedback(options: FeedbackOptions) {
  const { pool, clock, tokens, isTenant, onReport } = options;
  const running = new Map<number, number>();

  /** The tenant and nonce that a token contains. Throws 404 if it was not signed here, or the tenant is gone. */
  function addressOf(token: string): [tenantNo: number, nonce: string] {
    const content = tokens.read(token) as [number, string] | null;
    if (content === null || !isTenant(content[0])) throw invalidAddress();
    return content;
  }

  /**
   * Takes the reports in a request's body. Throws 404 for an address that is not or no longer valid, 422 for a body that the
   * tenant's format does not fit, 429 for more requests at a time, and the first error of reports that could not be recorded:
   * the provider then sends all of them again.
   */
  async function receive(token: string, body: unknown): Promise<FeedbackCounts> {
    const [tenantNo, nonce] = addressOf(token);
    const others = running.get(tenantNo) ?? 0;
    if (others >= MOST_AT_A_TIME) throw new AppError('too_many_requests', BUSY, { headers: { 'Retry-After': '1' } });
    running.set(tenantNo, others + 1);
    try {
      const format = await noteReceived(pool, tenantNo, nonce, clock.now());
      if (format === null) throw invalidAddress();
      return await take(tenantNo, format, body);
    } finally {
      const stillRunning = running.get(tenantNo)! - 1;
      if (stillRunning > 0) running.set(tenantNo, stillRunning);
      else running.delete(tenantNo);
    }
  }

  async function take(tenantNo: number, format: FeedbackFormat, body: unknown): Promise<FeedbackCounts> {
    const entries = reportEntries(body, format);
    if (entries === null)
      throw new AppError(
        'unprocessable',
        `Body must have a report or a list of at most ${MOST_REPORTS} at '${format.entries}'`,
      );
    const counts = { delivered: 0, bounced: 0, complained: 0, repeated: 0, unknown: 0, ignored: 0, invalid: 0 };
    const reports: Report[] = [];
    for (const entry of entries) {
      const report = readReport(entry, format);
      if (typeof report === 'string') counts[report] += 1;
      else reports.push(report);
    }
    const failures = await apply(tenantNo, reports, counts);
    for (const [outcome, count] of Object.entries(counts)) onReport(outcome as keyof FeedbackCounts, count);
    if (failures.length > 0) throw failures[0];
    return counts;
  }

  /** Applies reports, each by itself, and counts them. Returns the errors of those that have to be sent again. */
  async function apply(tenantNo: number, reports: readonly Report[], counts: FeedbackCounts): Promise<unknown[]> {
    const ids = reports.flatMap(({ id }) => id ?? []);
    const messages = await handedOver(pool, tenantNo, ids);
    const recorded = new Map<string, ReportedMessage>();
    const failures: unknown[] = [];
    for (const report of reports) {
      const message = report.id === null ? undefined : messages.get(report.id);
      const status = FEEDBACK_STATUSES[report.weight - 1]!;
      try {
        if (message !== undefined && report.weight <= message.weight) counts.repeated += 1;
        else if (message !== undefined) {
          await affect(options, tenantNo, { report, userId: message.userId, id: report.id });
          message.weight = report.weight;
          recorded.set(report.id!, { ...report, ...shortened(report), id: report.id! });
          counts[status] += 1;
        } else counts[(await affectAddress(options, tenantNo, report)) ? status : 'unknown'] += 1;
      } catch (error) {
        failures.push(error);
      }
    }
    await recordFeedback(pool, tenantNo, [...recorded.values()]);
    return failures;
  }

  const shortened = ({ reason, atMs }: Report): { reason: string | null; atMs: number } => ({
    reason: reason?.replaceAll(/\s+/g, ' ').slice(0, REASON_LENGTH) ?? null,
    // A provider's clock may be ahead.
    atMs: Math.min(atMs ?? Infinity, clock.now()),
  });

  return { receive, addressOf };
}

const BUSY = 'Other reports are still being recorded; try again after the time in Retry-After';

const invalidAddress = (): AppError => new AppError('not_found', 'This address for reports is not valid');

const LATER = new Set<number>([WEIGHTS.bounced, WEIGHTS.complained]);

/** Applies a report that knows only the address to the users who have it. Returns whether there are any. */
async function affectAddress(options: FeedbackOptions, tenantNo: number, report: Report): Promise<boolean> {
  const { address } = report;
  if (address === null) return false;
  const candidates = await usersWithAddress(options.pool, tenantNo, address, MOST_USERS);
  let isKnown = false;
  for (const userId of candidates) {
    const state = await stateOf(options, tenantNo, userId);
    if (state?.email?.toLowerCase() !== address) continue;
    isKnown = true;
    await affect(options, tenantNo, { report, userId, id: null }, state);
  }
  return isKnown;
}

/** The effects of a report on its user, all of which may be repeated. */
async function affect(
  options: FeedbackOptions,
  tenantNo: number,
  { report, userId }: Subject,
  known?: User,
): Promise<void> {
  if (!LATER.has(report.weight)) return;
  const state = known ?? (await stateOf(options, tenantNo, userId));
  // A deleted user has left nothing to protect, and their address must not stay here.
  if (state === undefined) return;
  const { pool, clock } = options;
  const address = report.address ?? state.email;
  const complained = report.weight === WEIGHTS.complained;
  const reason = (report.reason ?? (complained ? 'complaint' : 'bounce')).slice(0, REASON_LENGTH);
  if (address !== null) await suppressAddress(pool, { tenantNo, address, userId, reason, nowMs: clock.now() });
  if (complained) await endEmails(options, { tenantNo, userId, kinds: null });
}

const stateOf = (options: FeedbackOptions, tenantNo: number, userId: string): Promise<User | undefined> =>
  readState(options, { tenantNo, userId });

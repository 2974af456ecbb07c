import { AdminRefusal, askPatiently, type AdminOptions } from '../admin-api.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LeaderboardResponseWithRankings, LeaderboardWithStatus } from '../../domain/leaderboard.ts';
import type { EventEntry, TimelinePage } from '../../domain/administration/timeline.ts';
import type { MadeEvent } from './events.ts';
import { type Account, addIds, idHash, type Ledger, millionths } from './ledger.ts';
import type { Target } from './target.ts';

/** Whether Laurel has exactly the events that it acknowledged. */
export interface Verification {
  acknowledged: number;
  users: number;
  /** Events without an answer that were sent again with their idempotency key, and of those the ones without an outcome. */
  settled: number;
  /** Events whose outcome stays unknown: the figures may contain them or not. */
  unknown: number;
  /** Numbers of comparisons. `events` are those found in Postgres; `null`: they were not compared. */
  totals: number;
  events: number | null;
  scores: number;
  /** Leaderboards that were compared, and others with the reason. */
  leaderboards: string[];
  skipped: { leaderboard: string; reason: string }[];
  /** The first differences, and their number. */
  differences: string[];
  differing: number;
}

interface VerifyOptions {
  target: Target;
  ledger: Ledger;
  /** Sends an event again. */
  resend: (made: MadeEvent) => Promise<{ status: string; body: string }>;
  /** UTC dates on which the load began and ended. */
  days: { from: string; to: string };
  onProgress: (step: string, done: number, total: number) => void;
}

const AT_ONCE = 8;
const MOST_SHOWN = 20;
const RESENDS = 5;
const RESEND_PAUSE_MS = 500;
/** Events without a result may still be processed: of batches that took too long, or without an answer. */
const RETRY = { forMs: 30_000, pauseMs: 1_000 };
const USERS_A_REQUEST = 500;
const EVENTS_A_PAGE = 100;

/** Compares every acknowledged event with totals, stored events and leaderboard scores. */
export async function verifyLoad(options: VerifyOptions): Promise<Verification> {
  const { ledger, target } = options;
  const settled = await settle(options);
  const users = [...ledger.accounts];
  const accounts = users.flatMap(([, metrics]) => [...metrics.values()]);
  const verification: Verification = {
    acknowledged: accounts.reduce((sum, { count }) => sum + count, 0),
    users: users.length,
    settled,
    unknown: accounts.reduce((sum, { unknown }) => sum + unknown, 0),
    totals: 0,
    events: target.admin === null ? null : 0,
    scores: 0,
    leaderboards: [],
    skipped: [],
    differences: [],
    differing: 0,
  };
  const retryUntilMs = performance.now() + RETRY.forMs;
  await inParallel(users, async ([user, metrics], done) => {
    let compared = await compareUser(target, user, metrics);
    const mayRun = [...metrics.values()].some(({ withoutId, unknown }) => withoutId + unknown > 0);
    while (mayRun && compared.differences.length > 0 && performance.now() < retryUntilMs) {
      await sleep(RETRY.pauseMs);
      compared = await compareUser(target, user, metrics);
    }
    verification.totals += metrics.size;
    if (verification.events !== null) verification.events += compared.events;
    differ(verification, compared.differences);
    options.onProgress('users compared', done, users.length);
  });
  await compareLeaderboards(options, verification);
  return verification;
}

/** Sends events whose outcome is unknown again, with the same idempotency key, until it is known. Returns their number. */
async function settle({ ledger, resend, onProgress }: VerifyOptions): Promise<number> {
  const { unsettled } = ledger;
  const number = unsettled.length;
  ledger.unsettled = [];
  await inParallel(unsettled, async (made, done) => {
    for (let tries = 0; tries < RESENDS; tries += 1) {
      if (tries > 0) await sleep(RESEND_PAUSE_MS * 2 ** tries);
      const { status, body } = await resend(made);
      ledger.note([made], status, body);
      // An event that is unknown again was noted as unsettled.
      if (ledger.unsettled.at(-1) !== made) break;
      ledger.unsettled.pop();
      if (tries === RESENDS - 1) ledger.giveUp(made);
    }
    onProgress('unanswered events settled', done, number);
  });
  return number;
}

interface Compared {
  differences: string[];
  /** Events that were found in Postgres. */
  events: number;
}

async function compareUser(
  { app, admin }: Target,
  user: string,
  metrics: ReadonlyMap<string, Account>,
): Promise<Compared> {
  const totals = await totalsOf(app, user);
  const stored = admin === null ? null : await storedEvents(admin, user);
  const differences: string[] = [];
  let events = 0;
  for (const [metric, account] of metrics) {
    const name = `${user}, ${metric}`;
    if (!isWithin(account, totals.get(metric) ?? 0))
      differences.push(`${name}: the total is ${shown(totals.get(metric) ?? 0)}, acknowledged ${shown(account.sum)}`);
    if (stored === null) continue;
    const { count, sum, ids } = stored.get(metric) ?? { count: 0, sum: 0, ids: 0 };
    events += count;
    if (count < account.count || count > account.count + account.unknown || !isWithin(account, sum))
      differences.push(
        `${name}: ${count} events with a sum of ${shown(sum)} are stored, acknowledged ${account.count} with ${shown(account.sum)}`,
      );
    else if (account.unknown === 0 && account.withoutId === 0 && ids !== account.ids)
      differences.push(`${name}: the IDs of the ${count} stored events are not those that were acknowledged`);
  }
  return { differences, events };
}

/** Events of unknown outcome have values of at least 0. */
const isWithin = ({ sum, unknownSum }: Account, found: number): boolean => found >= sum && found <= sum + unknownSum;

const shown = (inMillionths: number): string => String(inMillionths / 1e6);

/** Totals in millionths, by metric; empty if the user does not exist. */
async function totalsOf(app: AdminOptions, user: string): Promise<Map<string, number>> {
  const path = `/v1/users/${encodeURIComponent(user)}/metrics`;
  const metrics = (await orNothing(askPatiently(app, { method: 'GET', path }))) as { key: string; current: number }[];
  return new Map((metrics ?? []).map(({ key, current }) => [key, millionths(current)]));
}

type Stored = Pick<Account, 'count' | 'sum' | 'ids'>;

/** The user's events in Postgres, by metric. */
async function storedEvents(admin: AdminOptions, user: string): Promise<Map<string, Stored>> {
  const stored = new Map<string, Stored>();
  for (let cursor: string | null = ''; cursor !== null;) {
    const from: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const path = `/v1/users/${encodeURIComponent(user)}/timeline?kind=event&order=asc&limit=${EVENTS_A_PAGE}${from}`;
    const page = (await orNothing(askPatiently(admin, { method: 'GET', path }))) as TimelinePage | null;
    if (page === null) return stored;
    for (const { id, metric, value } of page.entries as EventEntry[]) {
      const before = stored.get(metric.key ?? '') ?? { count: 0, sum: 0, ids: 0 };
      stored.set(metric.key ?? '', {
        count: before.count + 1,
        sum: before.sum + millionths(value),
        ids: addIds(before.ids, idHash(id)),
      });
    }
    cursor = page.nextCursor;
  }
  return stored;
}

async function orNothing(answer: Promise<unknown>): Promise<unknown> {
  return answer.catch((error: unknown) => {
    if (error instanceof AdminRefusal && error.status === 404) return null;
    throw error;
  });
}

async function compareLeaderboards({ target, ledger, days, onProgress }: VerifyOptions, verification: Verification) {
  const boards = await askPatiently<LeaderboardWithStatus[]>(target.app, { method: 'GET', path: '/v1/leaderboards' });
  for (const board of boards) {
    const reason = whyNotComparable(board, days);
    if (reason !== null) {
      verification.skipped.push({ leaderboard: board.key, reason });
      continue;
    }
    const accounts = [...ledger.accounts].flatMap(([user, metrics]): [string, Account][] => {
      const account = metrics.get(board.metricKey!);
      return account === undefined ? [] : [[user, account]];
    });
    if (accounts.length === 0) continue;
    verification.leaderboards.push(board.key);
    await inParallel(chunks(accounts, USERS_A_REQUEST), async (some, done) => {
      differ(verification, await compareScores(target.app, board, some));
      verification.scores += some.length;
      onProgress(`scores of ${board.key}`, Math.min(done * USERS_A_REQUEST, accounts.length), accounts.length);
    });
  }
}

/** Why the scores of a leaderboard are not the sums of all events of the load; `null` if they are. */
function whyNotComparable(board: LeaderboardWithStatus, days: { from: string; to: string }): string | null {
  if (board.status !== 'active') return `it is ${board.status}`;
  if (board.rankBy !== 'metric') return `it ranks by ${board.rankBy}`;
  if (board.aggregate !== undefined) return `a score is not a sum (${board.aggregate})`;
  if (board.breakdownAttributes.length > 0) return 'it counts only users with its breakdown attributes';
  if (board.startTime !== null || board.endTime !== null) return 'it counts only some hours';
  if (board.runUnit !== null && days.from !== days.to) return 'a run may have ended meanwhile';
  return null;
}

async function compareScores(
  app: AdminOptions,
  board: LeaderboardWithStatus,
  accounts: readonly [string, Account][],
): Promise<string[]> {
  const path = `/v1/leaderboards/${encodeURIComponent(board.key)}/rankings`;
  const body = { userIds: accounts.map(([user]) => user), limit: USERS_A_REQUEST };
  const { rankings } = await askPatiently<LeaderboardResponseWithRankings>(app, { method: 'POST', path, body });
  const scores = new Map(rankings.map(({ userId, value }) => [userId, millionths(value)]));
  return accounts.flatMap(([user, account]) => {
    const score = scores.get(user) ?? 0;
    return isWithin(account, score)
      ? []
      : [`${user}, leaderboard ${board.key}: the score is ${shown(score)}, acknowledged ${shown(account.sum)}`];
  });
}

function differ(verification: Verification, differences: readonly string[]): void {
  verification.differing += differences.length;
  verification.differences.push(...differences.slice(0, MOST_SHOWN - verification.differences.length));
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, no) => items.slice(no * size, (no + 1) * size));
}

async function inParallel<T>(items: readonly T[], work: (item: T, done: number) => Promise<void>): Promise<void> {
  let next = 0;
  let done = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const item = items[next++]!;
      await work(item, done + 1);
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** A sentence about a verification. */
export function verificationText(verification: Verification): string {
  const number = (count: number): string => count.toLocaleString('en');
  const stored = verification.events === null ? '' : `, ${number(verification.events)} stored events`;
  const compared = `${number(verification.totals)} totals${stored}, ${number(verification.scores)} scores`;
  const unknown =
    verification.unknown === 0
      ? ''
      : ` ${number(verification.unknown)} events had no answer and no idempotency key, so both outcomes were accepted for them.`;
  return verification.differing === 0
    ? `${number(verification.acknowledged)} acknowledged events of ${number(verification.users)} users: none lost, none doubled (${compared}).${unknown}`
    : `${number(verification.differing)} DIFFERENCES to the ${number(verification.acknowledged)} acknowledged events (${compared}).${unknown}`;
}

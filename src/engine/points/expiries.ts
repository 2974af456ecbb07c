import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { PointsSystem } from '../../domain/catalog.ts';
import type { Notification } from '../../domain/notifications/notification.ts';
import { DAY_MS, dateOf, epochDay } from '../../domain/periods.ts';
import { KIND, kindField } from '../../packed/record-fields.ts';
import { REFUSAL } from '../../packed/refusal-fields.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { beginExpiry, endExpiry, type ExpiringSystem, expiringSystems, moveExpiry } from '../../postgres/expiries.ts';
import { readOrganisation } from '../../postgres/organisation.ts';
import { usersAfter } from '../../postgres/users/selections.ts';
import { changeUserBalance } from '../changes/balance-change.ts';
import { eventId } from '../ids.ts';
import type { Publisher } from '../notifications/due/publisher.ts';
import { expiryPayload, userJson } from '../notifications/payloads.ts';
import { unlessRefused } from '../refusals.ts';
import { type ScheduledWork, workInPieces } from '../schedule/due-work.ts';
import { type OnPieceFailed, type Piece, Pieces } from '../schedule/pieces.ts';
import type { Scripts } from '../scripts.ts';
import { type AfterExpiry, type ExpiringBalance, readExpiringBalances } from './expiring-balances.ts';

interface ExpiriesOptions {
  redis: Redis;
  scripts: Scripts;
  clock: Clock;
  publisher: Publisher;
  onFailed?: OnPieceFailed;
  /** Users whose points expire together; for tests. */
  atOnce?: number;
}

const AT_ONCE = 500;
/** Approximate maximum duration of a piece of work. */
const WORK_MS = 2_000;
/** How often a user may change during the work. The points of one who changes more often expire a day later. */
const TRIES = 20;
/** How many days before points expire they are announced; fewer if the points expire sooner. */
const WARNING_DAYS = 7;

type Expiring = ExpiringSystem & { afterDays: number; day: number };

/** Days (epoch days, UTC) that matter at the start of a day. */
interface Days {
  /** Points earned up to this day expire now. */
  expired: number;
  /** Points earned on this day are announced now. */
  warned: number;
  /** The day at whose start these expire. */
  warnedFor: number;
}

interface Page {
  compiled: CompiledCatalog;
  system: PointsSystem;
  days: Days;
}

/**
 * Points that expire, oldest first. At the start of each UTC day the users of each points system with `expiresAfterDays` are
 * read in pages by ID. The balance minus everything earned since a day is what is left of the points earned up to then,
 * because spendings, deductions and open holds take the oldest points first. A repetition finds nothing left, and an
 * amount that was computed from an older state is refused. So a crash, or two schedules, change nothing.
 */
export function createExpiries(options: ExpiriesOptions): ScheduledWork {
  const { publisher, redis, clock, scripts, onFailed, atOnce = AT_ONCE } = options;
  const pieces = new Pieces({ kind: 'points that expire', onFailed });

  async function due(upToMs: number): Promise<number | null> {
    const { pool } = publisher;
    const all = await expiringSystems(pool);
    const tomorrow = epochDay(upToMs) + 1;
    // New, or the clock went back.
    const begun = all.filter(({ afterDays, day }) => afterDays !== null && (day === null || day > tomorrow));
    if (begun.length > 0) await beginExpiry(pool, begun, tomorrow);
    const ended = all.filter(({ afterDays }) => afterDays === null);
    if (ended.length > 0) await endExpiry(pool, ended);
    return firstOf(all, upToMs);
  }

  async function upcoming(untilMs: number): Promise<number | null> {
    return firstOf(await expiringSystems(publisher.pool), untilMs);
  }

  async function perform(dueMs: number, ending: AbortSignal, _beforeMs: number, upToMs: number): Promise<void> {
    const endMs = performance.now() + WORK_MS;
    await publisher.wanting(['points.expiring']);
    for (const expiring of open(await expiringSystems(publisher.pool))) {
      let rest: Expiring | null = expiring.day * DAY_MS === dueMs ? expiring : null;
      while (rest !== null && !ending.aborted && performance.now() < endMs) {
        const of: Expiring = rest;
        const attempt = await pieces.attempt(pieceOf(of), ending, (signal) => page(of, upToMs, signal));
        rest = attempt?.value ?? null;
      }
    }
  }

  function open(systems: readonly ExpiringSystem[]): Expiring[] {
    const isOpen = (system: ExpiringSystem): system is Expiring => system.afterDays !== null && system.day !== null;
    return systems.filter(isOpen).filter((system) => !pieces.isAside(pieceOf(system).key));
  }

  function firstOf(systems: readonly ExpiringSystem[], upToMs: number): number | null {
    const dueMs = Math.min(...open(systems).map(({ day }) => day * DAY_MS));
    return dueMs <= upToMs ? dueMs : null;
  }

  /** Does the next users of a day. Returns the progress for the rest of the day; `null` if there is none. */
  async function page(expiring: Expiring, nowMs: number, signal: AbortSignal): Promise<Expiring | null> {
    const { tenantNo, no, version, day, lastUser } = expiring;
    const compiled = await publisher.catalog(tenantNo, version);
    const system = compiled.pointsSystemsByNo.get(no);
    const users = await usersAfter(publisher.pool, tenantNo, lastUser, atOnce);
    const page = system && { compiled, system, days: daysAt(expiring) };
    const userIds = users.map(({ id }) => id);
    const expired = page === undefined ? [] : await expire(page, userIds, signal);
    if (expired === null) return null;
    const warned = page === undefined ? [] : await warnings(page, expired, { dueMs: day * DAY_MS, nowMs });
    const isLast = users.length < atOnce;
    const next = isLast ? { day: day + 1, lastUser: '' } : { day, lastUser: users.at(-1)!.id };
    const moved =
      warned.length === 0
        ? await moveExpiry(publisher.pool, expiring, next)
        : await publisher.publish(compiled, nowMs, async (client) =>
            (await moveExpiry(client, expiring, next)) ? warned : null,
          );
    return moved && !isLast ? { ...expiring, ...next } : null;
  }

  /** Lets points of some users expire. Returns the users with a balance; `null` if `signal` aborts it. */
  async function expire(page: Page, userIds: readonly string[], signal: AbortSignal): Promise<AfterExpiry[] | null> {
    const expired: AfterExpiry[] = [];
    let waiting = userIds;
    for (let tries = 0; waiting.length > 0 && tries < TRIES; tries += 1) {
      if (signal.aborted) return null;
      const outdated: string[] = [];
      await Promise.all(
        (await expiringBalances(page, waiting)).map(async (one) => {
          const after = await expireOne(page, one);
          if (after === 'outdated') outdated.push(one.userId);
          else if (after !== null) expired.push(after);
        }),
      );
      waiting = outdated;
    }
    return expired;
  }

  function expiringBalances({ compiled, system, days }: Page, userIds: readonly string[]): Promise<ExpiringBalance[]> {
    const { tenantNo } = compiled.catalog;
    return readExpiringBalances({ redis, pool: publisher.pool }, clock, { tenantNo, no: system.no }, userIds, days);
  }

  async function expireOne(
    { compiled, system }: Page,
    { expired, ...done }: ExpiringBalance,
  ): Promise<AfterExpiry | 'outdated' | null> {
    if (expired === 0) return done;
    const { userId, packed, balance, unspent } = done;
    const nowMs = clock.now();
    const { reply, packed: after } = await changeUserBalance(scripts, compiled.catalog.tenantNo, {
      userId,
      id: eventId(nowMs),
      movement: { kind: 'expire', system: system.no, amount: expired },
      expected: packed,
      nowMs,
    });
    if (reply[kindField] === REFUSAL.outdated) return 'outdated';
    if (reply[kindField] === REFUSAL.unknownUser) return null;
    unlessRefused(compiled, reply, [KIND.user]);
    const rest = (left: number): number => Math.max(0, left - expired);
    return { userId, packed: after!, balance: balance - expired, unspent: [rest(unspent[0]), rest(unspent[1])] };
  }

  /** Announces what will expire next, to the receivers that want it. */
  async function warnings(
    { compiled, system, days: { warnedFor } }: Page,
    done: readonly AfterExpiry[],
    { dueMs, nowMs }: { dueMs: number; nowMs: number },
  ): Promise<Notification[]> {
    const { tenantNo } = compiled.catalog;
    const type = 'points.expiring';
    const about = { pointsSystemId: system.id };
    // After a long downtime, these expire at once.
    if (warnedFor * DAY_MS <= nowMs) return [];
    const warned = done.filter(
      ({ userId, unspent: [before, all] }) => all > before && publisher.wants(compiled, userId)(type, about),
    );
    if (warned.length === 0) return [];
    const { controlShare } = await readOrganisation(publisher.pool);
    const date = dateOf(warnedFor);
    return warned.map(({ userId, packed, balance, unspent: [before, all] }) => {
      const user = userJson(compiled, { userId, state: decodeUser(packed), controlShare });
      const payload = expiryPayload(type, user, system, { amount: all - before, balance, date });
      return { type, tenantNo, userId, atMs: dueMs, source: `${userId}:${system.no}:${date}`, about, payload };
    });
  }

  return workInPieces(pieces, { due, upcoming, perform, seesItself: true });
}

/** Points can be spent on the day on which they are earned and on `afterDays` whole days after it. */
function daysAt({ day, afterDays }: Expiring): Days {
  const warnedFor = day + Math.min(WARNING_DAYS, afterDays);
  return { expired: day - afterDays - 1, warned: warnedFor - afterDays - 1, warnedFor };
}

const pieceOf = ({ tenantNo, no }: ExpiringSystem): Piece => ({
  key: `${tenantNo}:${no}`,
  name: `points system ${no} of tenant ${tenantNo}`,
  detail: { tenantNo, pointsSystem: no },
});

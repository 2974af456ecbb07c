import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { PointsBoost } from '../../../domain/catalog.ts';
import { DAY_MS, dayOf } from '../../../domain/periods.ts';
import { dayStartMs } from '../../../domain/zone.ts';
import { announcedBoosts, claimBoost } from '../../../postgres/notifications/due.ts';
import { storedZones } from '../../../postgres/users/stored-states.ts';
import { type ScheduledWork, workInPieces } from '../../schedule/due-work.ts';
import { type OnPieceFailed, Pieces, tenantPiece } from '../../schedule/pieces.ts';
import { boostPayload } from '../payloads.ts';
import type { Publisher, Wanting } from './publisher.ts';

const TYPES = ['points.boost_started', 'points.boost_finished'] as const;
type BoostType = (typeof TYPES)[number];

/** A zone's day begins at most this long before or after UTC's. */
const EARLIEST_MS = 14 * 3_600_000;
const LATEST_MS = 12 * 3_600_000;

/** The start or end of a boost for a single user. */
interface Announcement {
  compiled: CompiledCatalog;
  boost: PersonalBoost;
  type: BoostType;
  atMs: number;
}

/**
 * Boosts for single users: announced when the first day begins in the user's zone (UTC for an unknown user), and on the
 * day after the last one. The time moves with the zone. So each announcement is stored and made once, and one whose
 * time has passed when the user changes zone is made at once. Starts and ends from before the boost or the webhook was
 * created are not announced.
 */
export function createPersonalBoosts(publisher: Publisher, onFailed?: OnPieceFailed): ScheduledWork {
  /** Announcements that were already made. */
  const made = new Set<string>();
  const pieces = new Pieces({ kind: 'boosts of single users', onFailed });

  async function due(upToMs: number): Promise<number | null> {
    const dueMs = Math.min(...(await announcements(upToMs)).map(({ atMs }) => atMs));
    return dueMs <= upToMs ? dueMs : null;
  }

  async function perform(dueMs: number, ending: AbortSignal, beforeMs: number, upToMs: number): Promise<void> {
    const lastMs = Math.max(dueMs, beforeMs - 1);
    const due = (await announcements(lastMs)).filter(({ atMs }) => atMs <= lastMs);
    await pieces.attemptEach(
      due.toSorted((a, b) => a.atMs - b.atMs),
      ({ compiled }) => tenantPiece(compiled.catalog.tenantNo),
      ending,
      (announcement) => announce(announcement, upToMs),
    );
  }

  /** Pending announcements up to a time, possibly with some that are up to a day later. */
  async function announcements(upToMs: number): Promise<Announcement[]> {
    const wanting = await publisher.wanting(TYPES);
    const boosts: Announcement[] = [];
    for (const { tenantNo, version, ...wanted } of wanting) {
      if (pieces.isAside(String(tenantNo))) continue;
      const compiled = await publisher.catalogIfReadable(tenantNo, version);
      if (compiled === null) continue;
      boosts.push(...(await ofType(compiled, { ...wanted, upToMs })));
    }
    return boosts;
  }

  async function ofType(
    compiled: CompiledCatalog,
    { type, sinceMs, users, upToMs }: Pick<Wanting<BoostType>, 'type' | 'sinceMs' | 'users'> & { upToMs: number },
  ): Promise<Announcement[]> {
    const { tenantNo, boosts } = compiled.catalog;
    const near = boosts.flatMap((boost) => {
      const day = announcedDay(boost, type);
      if (!isPersonal(boost) || day === null || made.has(keyOf(tenantNo, boost.no, type))) return [];
      const since = users === null ? sinceMs : users.get(boost.userId);
      if (since === undefined) return [];
      const afterMs = Math.max(since, boost.created);
      const wants = publisher.wants(compiled, boost.userId);
      const isNear = day * DAY_MS - EARLIEST_MS <= upToMs && day * DAY_MS + LATEST_MS > afterMs;
      return isNear && wants(type, { pointsSystemId: boost.systemId }) ? [{ boost, day, afterMs }] : [];
    });
    if (near.length === 0) return [];
    const userIds = near.map(({ boost }) => boost.userId);
    const boostNos = near.map(({ boost }) => boost.no);
    const zones = await storedZones(publisher.pool, tenantNo, userIds);
    for (const no of await announcedBoosts(publisher.pool, { tenantNo, type }, boostNos))
      made.add(keyOf(tenantNo, no, type));
    return near.flatMap(({ boost, day, afterMs }) => {
      const atMs = dayStartMs(zones.get(boost.userId) || 'UTC', day);
      const isOpen = atMs > afterMs && !made.has(keyOf(tenantNo, boost.no, type));
      return isOpen ? [{ compiled, boost, type, atMs }] : [];
    });
  }

  async function announce({ compiled, boost, type, atMs }: Announcement, nowMs: number): Promise<void> {
    const { tenantNo } = compiled.catalog;
    const { userId, no: boostNo } = boost;
    const system = compiled.pointsSystemsById.get(boost.systemId);
    if (system === undefined) return;
    await publisher.publish(compiled, nowMs, async (client) => {
      if (!(await claimBoost(client, { tenantNo, userId, boostNo, type }))) return null;
      const about = { pointsSystemId: system.id };
      const payload = boostPayload(type, boost, system, atMs);
      return [{ type, tenantNo, userId, atMs, source: String(boostNo), about, payload }];
    });
  }

  return workInPieces(pieces, { due, perform, sharesReads: true });
}

type PersonalBoost = PointsBoost & { userId: string };

const isPersonal = (boost: PointsBoost): boost is PersonalBoost => boost.userId !== null;

/** The day (epoch day) at whose start a start or end is announced; `null` if there is none. */
function announcedDay({ start, end }: PointsBoost, type: BoostType): number | null {
  if (type === 'points.boost_started') return dayOf(start);
  return end === null ? null : dayOf(end) + 1;
}

const keyOf = (tenantNo: number, boostNo: number, type: BoostType): string => `${tenantNo}:${boostNo}:${type}`;

import type { Pool, PoolClient } from 'pg';
import { type LocalMoment, momentToday } from '../../../domain/zone.ts';
import type { Notification } from '../../../domain/notifications/notification.ts';
import {
  claimEmails,
  forgetMoves,
  forgetOtherMoves,
  hasMovedUsers,
  idsOfZone,
  movedUsers,
} from '../../../postgres/notifications/emails.ts';
import { moveNotificationProgress, type NotificationProgress } from '../../../postgres/notifications/due.ts';
import { type ScheduledWork, workInPieces } from '../../schedule/due-work.ts';
import { type OnPieceFailed, type Piece, Pieces, tenantPiece } from '../../schedule/pieces.ts';
import { type WaitingMessage, type EmailKind, REACTIVATIONS, RECAPS, STREAK_REMINDERS } from './email-kinds.ts';
import { type FollowedZone, FollowedZones } from './followed-zones.ts';
import type { Publisher } from './publisher.ts';

interface EmailRoundsOptions {
  publisher: Publisher;
  onFailed?: OnPieceFailed;
  /** Approximate duration of a piece of work. */
  workMs?: number;
}

const KINDS: readonly EmailKind[] = [STREAK_REMINDERS, RECAPS, REACTIVATIONS];

/** Users that are processed together; their messages are one transaction. */
const USERS_A_PAGE = 500;
/** Approximate maximum duration of a piece of work. */
const WORK_MS = 2_000;

const zonePiece = ({ tenantNo, kind, zone }: NotificationProgress): Piece => ({
  key: `${tenantNo}:${kind}:${zone}`,
  name: `${kind} in zone ${zone === '' ? 'UTC' : zone} of tenant ${tenantNo}`,
  detail: { tenantNo, type: kind, zone },
});

/**
 * E-mails that are due at a time of day in the users' zones. When a tenant's zone reaches that time, its users (or only
 * those with live listeners, if no webhook wants the type) are processed in pages by ID. The transaction that stores
 * the messages also advances a progress row. A kind of e-mail that fails in a zone is set aside; the others go on.
 *
 * The occasion of a user's last e-mail of each kind is stored, so that a user who moves to a zone where the time is
 * still to come gets no second one. A user who moves to a zone where the time has passed on the same local day is
 * processed when the move is stored.
 */
export function createEmailRounds({ publisher, workMs, onFailed }: EmailRoundsOptions): ScheduledWork {
  const followedZones = new FollowedZones(publisher, KINDS);
  const pieces = new Pieces({ kind: 'e-mails that are due', onFailed });

  async function due(upToMs: number): Promise<number | null> {
    const dueMs = firstDue(await followedZones.follow(upToMs), upToMs)?.moment.atMs ?? null;
    return dueMs ?? ((await hasMovedUsers(publisher.pool, pieces.tenantNos)) ? upToMs : null);
  }

  async function upcoming(untilMs: number): Promise<number | null> {
    return firstDue(await followedZones.followed(), untilMs)?.moment.atMs ?? null;
  }

  async function perform(dueMs: number, ending: AbortSignal, beforeMs: number, upToMs: number): Promise<void> {
    const endMs = performance.now() + (workMs ?? WORK_MS);
    const lastMs = Math.max(dueMs, beforeMs - 1);
    const followed = await followedZones.followed();
    let next = firstDue(followed, lastMs);
    if (next === null) return checkMoves(followed, upToMs, ending);
    while (next !== null && !ending.aborted && performance.now() < endMs) {
      const { zone, moment } = next;
      const attempt = await pieces.attempt(zonePiece(zone.progress), ending, () => page(zone, moment, upToMs));
      // Another process is ahead.
      if (attempt?.value === false) return;
      next = firstDue(followed, lastMs);
    }
  }

  /** The kind and zone that are due first, if due by a time. */
  function firstDue(
    zones: readonly FollowedZone[],
    upToMs: number,
  ): { zone: FollowedZone; moment: LocalMoment } | null {
    let first: { zone: FollowedZone; moment: LocalMoment } | null = null;
    for (const zone of zones) {
      if (pieces.isAside(zonePiece(zone.progress).key)) continue;
      const moment = followedZones.momentAfter(zone);
      if (moment.atMs <= upToMs && (first === null || moment.atMs < first.moment.atMs)) first = { zone, moment };
    }
    return first;
  }

  /** Processes a page of a zone's users at its due time. Returns false if another process did. */
  async function page(zone: FollowedZone, moment: LocalMoment, nowMs: number): Promise<boolean> {
    const { settings, progress } = zone;
    const { tenantNo, lastUser } = progress;
    const among = zone.users && [...zone.users.keys()];
    const page = { tenantNo, zone: progress.zone, after: lastUser, among, limit: USERS_A_PAGE };
    const userIds = await idsOfZone(publisher.pool, page);
    const due = await dueIn(publisher.pool, zone, moment, userIds);
    const isLast = userIds.length < USERS_A_PAGE;
    const next = isLast
      ? { doneMs: moment.atMs, lastUser: '' }
      : { doneMs: progress.doneMs, lastUser: userIds.at(-1)! };
    const moved = await publisher.publish(settings.compiled, nowMs, async (client) => {
      if (!(await moveNotificationProgress(client, progress, next))) return null;
      return claimed(client, { zone, moment, due });
    });
    zone.progress = { ...progress, ...next };
    return moved;
  }

  async function checkMoves(followed: readonly FollowedZone[], nowMs: number, ending: AbortSignal): Promise<void> {
    const tenants = new Set(followed.map(({ progress }) => progress.tenantNo));
    await forgetOtherMoves(publisher.pool, [...tenants]);
    await pieces.attemptEach(tenants, tenantPiece, ending, (tenantNo) => {
      const zones = followed.filter(({ progress }) => progress.tenantNo === tenantNo);
      return processMovedUsers(publisher, zones, { nowMs, limit: USERS_A_PAGE });
    });
  }

  return workInPieces(pieces, { due, upcoming, perform, sharesReads: true });
}

/** The e-mails that are due for some users of a zone at a moment. */
async function dueIn(
  pool: Pool,
  zone: FollowedZone,
  moment: LocalMoment,
  userIds: readonly string[],
): Promise<WaitingMessage[]> {
  if (userIds.length === 0) return [];
  return zone.kind.due({ ...zone.settings, pool, userIds, zone: zone.name, moment });
}

/** The notifications of e-mails whose occasion is new, in the client's transaction. */
async function claimed(
  client: PoolClient,
  { zone, moment, due }: { zone: FollowedZone; moment: LocalMoment; due: readonly WaitingMessage[] },
): Promise<Notification[]> {
  const { type } = zone.kind;
  const { tenantNo } = zone.progress;
  const users = await claimEmails(client, tenantNo, type, due);
  return due.flatMap(({ userId, dueFor, media, isWithheld, payload }) => {
    if (!users.has(userId)) return [];
    const source = `${userId}:${dueFor}`;
    return [{ type, tenantNo, userId, atMs: moment.atMs, source, about: {}, media, isWithheld, payload }];
  });
}

/** Processes users whose zone changed: an e-mail due today in the new zone, before they came, is due now. */
async function processMovedUsers(
  publisher: Publisher,
  zones: readonly FollowedZone[],
  { nowMs, limit }: { nowMs: number; limit: number },
): Promise<void> {
  const [first] = zones;
  if (first === undefined) return;
  const { tenantNo } = first.progress;
  const users = await movedUsers(publisher.pool, tenantNo, limit);
  if (users.length === 0) return;
  const rounds: { zone: FollowedZone; moment: LocalMoment; due: WaitingMessage[] }[] = [];
  for (const zone of zones) {
    const isAsked = (userId: string): boolean => zone.users?.has(userId) !== false;
    const inZone = users.filter((user) => user.zone === zone.progress.zone);
    const userIds = inZone.map(({ userId }) => userId).filter(isAsked);
    const moment = userIds.length === 0 ? null : momentToday(zone.time, zone.name, nowMs);
    if (moment === null || moment.atMs <= zone.sinceMs) continue;
    rounds.push({ zone, moment, due: await dueIn(publisher.pool, zone, moment, userIds) });
  }
  await publisher.publish(first.settings.compiled, nowMs, async (client) => {
    await forgetMoves(
      client,
      tenantNo,
      users.map(({ userId }) => userId),
    );
    const notifications: Notification[] = [];
    for (const each of rounds) notifications.push(...(await claimed(client, each)));
    return notifications;
  });
}

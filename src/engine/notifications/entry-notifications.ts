/** Turns outbox entries and records into notifications, and notes e-mails that fall due later. */
import type { PoolClient } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { achievementDueMs } from '../../domain/notifications/email-times.ts';
import type { Notification } from '../../domain/notifications/notification.ts';
import { RECORD, RECORDED_BOARD } from '../../packed/record-fields.ts';
import type { HappenedRecord, MergeRecord } from '../../packed/record.ts';
import { noteCompletions } from '../../postgres/notifications/emails.ts';
import {
  aboutAchievement,
  achievementNotifications,
  boardNotifications,
  mergeNotifications,
  pointsNotifications,
  RecordedUser,
  rewardNotifications,
  spendingNotifications,
  streakNotifications,
  type Wants,
} from './rules.ts';

export interface HappenedEntry {
  tenantNo: number;
  /** Its records, without those that a deletion in the same batch voids. */
  records: HappenedRecord[];
  /** The users touched and their packed states afterwards: id, state, id, state… */
  states: readonly Buffer[];
  /** About the user who remains after a merge; an entry has at most one. */
  merge?: MergeRecord;
}

export interface EntryReport {
  notifications: Notification[];
  /** Completions with a wanted e-mail that falls due later. */
  completions: NotedCompletion[];
}

interface EntryContext {
  compiled: CompiledCatalog;
  controlShare: number;
  wants: Wants;
  /** Whether a user's completions are noted, regardless of `wants`. */
  isListened: (userId: string) => boolean;
}

/** Maximum length of a payload in UTF-16 units. A state takes at most a quarter of it. */
const PAYLOAD_LENGTH = 1_048_576;

const OFF_THE_BOARD = -1;

interface Happened {
  record: HappenedRecord;
  /** The user in the state after the entry; `undefined` if the entry lacks the state. */
  user: RecordedUser | undefined;
  /** The wanted notifications; `null` if they cannot be built. */
  notifications: Notification[] | null;
}

/**
 * What happened in an outbox entry, by record, and its users. Webhooks and live streams report the result, each in its own form.
 * Calls `onLeftOut` with the error for each record whose notifications cannot be built.
 * @param isWanted whether notifications are built for a record; default: for all
 */
export function happenedIn(
  context: {
    compiled: CompiledCatalog;
    controlShare: number;
    wants: Wants;
    isWanted?: (userId: string, hasState: boolean) => boolean;
  },
  { records, states, merge }: Pick<HappenedEntry, 'records' | 'states' | 'merge'>,
  onLeftOut: (error: unknown) => void,
): { users: ReadonlyMap<string, RecordedUser>; happened: Happened[]; merged: Notification[] } {
  const { compiled, controlShare, wants, isWanted = () => true } = context;
  const users = new Map<string, RecordedUser>();
  for (let at = 0; at + 1 < states.length; at += 2) {
    const userId = states[at]!.toString('utf8');
    users.set(userId, new RecordedUser({ compiled, controlShare }, userId, states[at + 1]!));
  }
  const happened = records.map((record): Happened => {
    const userId = record[RECORD.userId];
    const user = users.get(userId);
    if (!isWanted(userId, user !== undefined)) return { record, user, notifications: [] };
    try {
      const known = user ?? new RecordedUser({ compiled, controlShare }, userId, NO_STATE);
      return { record, user, notifications: fromRecord(compiled, wants, record, known) };
    } catch (error) {
      onLeftOut(error);
      return { record, user, notifications: null };
    }
  });
  const remaining = merge && users.get(merge[RECORD.userId]);
  let merged: Notification[] = [];
  try {
    if (merge && remaining && isWanted(remaining.userId, true))
      merged = mergeNotifications({ compiled, wants }, merge, remaining);
  } catch (error) {
    onLeftOut(error);
  }
  return { users, happened, merged };
}

/**
 * The notifications of an entry, in the order of its records. After those of a record follows one `leaderboard.changed`
 * for each run and group of a board whose rankings moved, with the place instead of the rankings (see `throttle`).
 * Calls `onLeftOut` with the error for each part that cannot be built, and continues.
 */
export function entryReport(
  context: EntryContext,
  entry: HappenedEntry,
  onLeftOut: (error: unknown) => void,
): EntryReport {
  const report: EntryReport = { notifications: [], completions: [] };
  const { happened, merged } = happenedIn(context, entry, onLeftOut);
  report.notifications.push(...merged);
  for (const { record, user, notifications } of happened) {
    if (notifications === null) continue;
    for (const notification of notifications) {
      if (notification.payload.length <= PAYLOAD_LENGTH) report.notifications.push(notification);
      else onLeftOut(new Error(`A payload of ${notification.type} is too large`));
    }
    report.notifications.push(...movedBoards(context, record));
    try {
      report.completions.push(...completionsOf(context, record, user));
    } catch (error) {
      onLeftOut(error);
    }
  }
  return report;
}

/** For users whose state the entry lacks; decoding it fails. */
const NO_STATE = Buffer.alloc(0);

function movedBoards(
  { compiled, wants }: { compiled: CompiledCatalog; wants: Wants },
  record: HappenedRecord,
): Notification[] {
  if (record[RECORD.backdated] !== undefined) return [];
  return (record[RECORD.boards] ?? []).flatMap((recorded) => {
    const boardNo = recorded[RECORDED_BOARD.board];
    const board = compiled.leaderboardsByNo.get(boardNo);
    const isOn =
      recorded[RECORDED_BOARD.rank] !== OFF_THE_BOARD || recorded[RECORDED_BOARD.previousRank] !== OFF_THE_BOARD;
    if (board === undefined || !isOn) return [];
    const about = { leaderboardId: board.id };
    // It also triggers the comparison of places of overtaken users.
    if (!wants('leaderboard.changed', about) && !wants('leaderboard.rank_changed', about)) return [];
    const place = { boardNo, runDay: recorded[RECORDED_BOARD.runDay], group: recorded[RECORDED_BOARD.group] };
    return {
      type: 'leaderboard.changed' as const,
      tenantNo: compiled.catalog.tenantNo,
      userId: null,
      atMs: record[RECORD.atMs],
      source: `${record[RECORD.id]}:${boardNo}`,
      about,
      place,
      payload: JSON.stringify(place),
    };
  });
}

function completionsOf(
  { compiled, wants, isListened }: EntryContext,
  record: HappenedRecord,
  user: RecordedUser | undefined,
): NotedCompletion[] {
  if (record[RECORD.backdated] !== undefined || record[RECORD.recomputation] !== undefined) return [];
  return (record[RECORD.completed] ?? []).flatMap((achievementNo) => {
    const achievement = compiled.achievementsByNo.get(achievementNo);
    if (achievement === undefined) return [];
    const userId = record[RECORD.userId];
    if (!isListened(userId) && !wants('emails.achievement_due', aboutAchievement(achievement))) return [];
    if (user === undefined) throw new Error(`An outbox entry has no state of a user who completed an achievement`);
    const { tenantNo } = compiled.catalog;
    return { tenantNo, userId, achievementNo, completedMs: record[RECORD.atMs], zone: user.state().zone };
  });
}

/**
 * The wanted notifications of a record, in this order: changes of the streak by the clock, the streak, achievements,
 * points, spendings, ranks. Pure. The user in each payload is in the state after the entry; everything else comes from the record.
 * Omits resources that were deleted meanwhile; of backdating, everything but changes by the clock; of recomputations,
 * achievements. Throws if the user's state or the record has an unknown form.
 */
export function fromRecord(
  compiled: CompiledCatalog,
  wants: Wants,
  record: HappenedRecord,
  user: RecordedUser,
): Notification[] {
  const change = { compiled, wants, record, user };
  const reported = [...streakNotifications(change)];
  if (record[RECORD.backdated] === undefined) {
    if (record[RECORD.recomputation] === undefined) reported.push(...achievementNotifications(change));
    reported.push(...pointsNotifications(change), ...spendingNotifications(change), ...boardNotifications(change));
    reported.push(...rewardNotifications(change));
  }
  return reported.map(({ type, no, about, place, payload }) => ({
    type,
    tenantNo: compiled.catalog.tenantNo,
    userId: user.userId,
    atMs: record[RECORD.atMs],
    source: `${record[RECORD.id]}:${no}`,
    about,
    ...(place && { place }),
    payload,
  }));
}

export interface NotedCompletion {
  tenantNo: number;
  userId: string;
  achievementNo: number;
  completedMs: number;
  /** The user's zone; `null` means UTC. */
  zone: string | null;
}

/**
 * Notes completions with a wanted `emails.achievement_due`, in the client's transaction. The clock makes the
 * notification when it falls due, if the user may then be written to. Each completion is noted once; a later change of
 * zone does not move it.
 */
export const noteDue = (client: PoolClient, completions: readonly NotedCompletion[]): Promise<void> =>
  noteCompletions(
    client,
    completions.map(({ completedMs, zone, ...completion }) => ({
      ...completion,
      dueMs: achievementDueMs(zone, completedMs),
    })),
  );

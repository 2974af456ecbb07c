/** Turns outbox entries and records into notifications, and notes those that fall due later. */
import type { PoolClient } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { achievementDueMs } from '../../domain/notifications/email-times.ts';
import type { Notification } from '../../domain/notifications/notification.ts';
import { RECORD, RECORDED_BOARD } from '../../packed/record-fields.ts';
import type { HappenedRecord } from '../../packed/record.ts';
import { noteCompletions } from '../../postgres/notifications/emails.ts';
import {
  aboutAchievement,
  achievementNotifications,
  boardNotifications,
  pointsNotifications,
  RecordedUser,
  streakNotifications,
  type Wants,
} from './rules.ts';

/** An entry of the outbox that is to be reported. */
export interface HappenedEntry {
  tenantNo: number;
  /** What happened, but for what a deletion in the same batch made void. */
  records: HappenedRecord[];
  /** The users touched and their packed state afterwards: id, state, id, state… */
  states: readonly Buffer[];
}

/** What is made of entries. */
export interface EntryReport {
  notifications: Notification[];
  /** Completions of which an e-mail is wanted when it falls due. */
  completions: NotedCompletion[];
}

/** What entries are reported with, and for whom. */
interface EntryContext {
  compiled: CompiledCatalog;
  /** Share of the users, 0 to 1, who are in the control group. */
  controlShare: number;
  wants: Wants;
  /** Whether the completions of a user are noted, whatever is wanted. */
  isListened: (userId: string) => boolean;
}

/** The most of a payload, in UTF-16 units: a state has at most a quarter of it. */
const PAYLOAD_LENGTH = 1_048_576;

const OFF_THE_BOARD = -1;

/**
 * What an entry reports, in the order of its records; a `leaderboard.changed` for each run and group of a board whose
 * rankings moved stands behind that of its record, with the place instead of the rankings (see `throttle`). What cannot be
 * made is left out, and `onLeftOut` called with why: everything else is made.
 */
export function fromEntry(
  context: EntryContext,
  { records, states }: HappenedEntry,
  onLeftOut: (error: unknown) => void,
): EntryReport {
  const report: EntryReport = { notifications: [], completions: [] };
  const users = new Map<string, RecordedUser>();
  for (let at = 0; at + 1 < states.length; at += 2) {
    const userId = states[at]!.toString('utf8');
    users.set(userId, new RecordedUser(context, userId, states[at + 1]!));
  }
  for (const record of records) {
    try {
      const user = users.get(record[RECORD.userId]) ?? new RecordedUser(context, record[RECORD.userId], NO_STATE);
      for (const notification of fromRecord(context, record, user)) {
        if (notification.payload.length <= PAYLOAD_LENGTH) report.notifications.push(notification);
        else onLeftOut(new Error(`A payload of ${notification.type} is too large`));
      }
      report.notifications.push(...movedBoards(context, record));
      report.completions.push(...completionsOf(context, record, user));
    } catch (error) {
      onLeftOut(error);
    }
  }
  return report;
}

/** Cannot be decoded: of a user whose state the entry does not hold. */
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
    // By it the places of those who were overtaken are compared, too.
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
  user: RecordedUser,
): NotedCompletion[] {
  if (record[RECORD.backdated] !== undefined || record[RECORD.recomputation] !== undefined) return [];
  return (record[RECORD.completed] ?? []).flatMap((achievementNo) => {
    const achievement = compiled.achievementsByNo.get(achievementNo);
    if (achievement === undefined) return [];
    if (!isListened(user.userId) && !wants('emails.achievement_due', aboutAchievement(achievement))) return [];
    const { tenantNo } = compiled.catalog;
    return {
      tenantNo,
      userId: user.userId,
      achievementNo,
      completedMs: record[RECORD.atMs],
      zone: user.state().tz,
    };
  });
}

/**
 * What a record reports, to whoever wants it, in this order: what the clock did to the streak, the streak, achievements,
 * points, ranks. Pure. The user in each payload is as the entry left them; all else is as the record says. What was deleted
 * from the catalog meanwhile is not reported, of what was backdated only what the clock did, and of what was recomputed no
 * achievement. Throws where the user's
 * state, or the record, is of no known form.
 */
export function fromRecord(
  { compiled, wants }: { compiled: CompiledCatalog; wants: Wants },
  record: HappenedRecord,
  user: RecordedUser,
): Notification[] {
  const change = { compiled, wants, record, user };
  const reported = [...streakNotifications(change)];
  if (record[RECORD.backdated] === undefined) {
    if (record[RECORD.recomputation] === undefined) reported.push(...achievementNotifications(change));
    reported.push(...pointsNotifications(change), ...boardNotifications(change));
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

/** An achievement that a user completed, not by backdating. */
export interface NotedCompletion {
  tenantNo: number;
  userId: string;
  achievementNo: number;
  /** Epoch ms. */
  completedMs: number;
  /** The user's zone; null: UTC. */
  zone: string | null;
}

/**
 * Notes completions whose `emails.achievement_due` somebody wants, in the client's transaction: the clock makes the
 * notification when it falls due, for users who may be written to then. Each is noted once; a zone that changes later does
 * not move it.
 */
export const noteDue = (client: PoolClient, completions: readonly NotedCompletion[]): Promise<void> =>
  noteCompletions(
    client,
    completions.map(({ completedMs, zone, ...completion }) => ({
      ...completion,
      dueMs: achievementDueMs(zone, completedMs),
    })),
  );

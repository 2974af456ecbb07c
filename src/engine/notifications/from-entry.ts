import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Notification } from '../../domain/notification.ts';
import type { HappenedRecord } from '../../packed/record.ts';
import { RECORD, RECORDED_BOARD } from '../../packed/record-fields.ts';
import { fromRecord } from './from-record.ts';
import type { NotedCompletion } from './note-due.ts';
import { RecordedUser } from './recorded-user.ts';
import { aboutAchievement } from './rules/achievements.ts';
import type { Wants } from './rules/change.ts';

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
export interface EntryContext {
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

import type { PackedUser, PaidUser } from '../../postgres/persist/users.ts';
import { storableText } from '../../postgres/storable-json.ts';
import type { HappenedRecord } from '../../packed/record.ts';
import { KIND, kindField, RECORD, RECORDED_POINTS } from '../../packed/record-fields.ts';
import { isPackedState } from '../../packed/unpack-state.ts';
import { UnreadableEntry } from './about-data.ts';

/** The last state of each user who was touched, by what has to be written beside it. */
export interface UsersByNews {
  /** Who is new, whose attributes or names changed, or of whom nothing is recorded: all of it. */
  users: PackedUser[];
  /** Whose streaks or zone changed: what the sweep goes by, and the points that changed. */
  streakUsers: PaidUser[];
  /** Whose points changed, and nothing else that is queried. */
  paidUsers: PaidUser[];
  /** The others: nothing of them is queried that Postgres does not hold already. */
  unchangedUsers: PackedUser[];
}

interface News {
  whole: boolean;
  streaks: boolean;
  /** Points system number → total. */
  points: Record<number, number> | null;
}

interface TouchedUser extends News, PackedUser {}

const EVERYTHING: News = { whole: true, streaks: true, points: null };

/** Gathers the users of outbox entries that follow one another: only a user's last state counts, with all the news. */
export class TouchedUsers {
  private readonly users = new Map<string, TouchedUser>();
  /** By user: what the records of the current entry report. */
  private noted = new Map<string, News>();

  /** To be called before the records of an entry. */
  beginEntry(): void {
    if (this.noted.size > 0) this.noted = new Map();
  }

  /** A record of the entry: to be noted before the entry's states. */
  note(record: HappenedRecord): void {
    const kind = record[kindField];
    const userId = record[RECORD.userId];
    let news = this.noted.get(userId);
    if (news === undefined) this.noted.set(userId, (news = { whole: false, streaks: false, points: null }));
    if (kind === KIND.user || kind === KIND.completion || kind === KIND.reversal) news.whole = true;
    if (record[RECORD.isNew] !== undefined || record[RECORD.changed] !== undefined) news.whole = true;
    // The clock and an administrator only change streaks of users who are there; an event says whether it did.
    if (kind === KIND.streaks || record[RECORD.due] !== undefined) news.streaks = true;
    const points = record[RECORD.points];
    if (points === undefined) return;
    news.points ??= {};
    for (const each of points) news.points[each[RECORDED_POINTS.system]] = each[RECORDED_POINTS.after];
  }

  /** A record that says nothing of the user's news, so that all of the state is written. */
  noteWhole(userId: string): void {
    this.noted.set(userId, { whole: true, streaks: true, points: null });
  }

  /** A user's state after the entry. Throws UnreadableEntry for one that is none. */
  state(tenantNo: number, id: string, packed: Buffer): void {
    if (!isPackedState(packed)) throw new UnreadableEntry("a user's state is none");
    const key = keyOf(tenantNo, id);
    const { whole, streaks, points } = this.noted.get(id) ?? EVERYTHING;
    const before = this.users.get(key);
    if (before === undefined) {
      this.users.set(key, { tenantNo, id, packed, whole, streaks, points });
      return;
    }
    before.id = id;
    before.packed = packed;
    before.whole ||= whole;
    before.streaks ||= streaks;
    before.points = before.points === null ? points : Object.assign(before.points, points);
  }

  /** Leaves out a user who was deleted. */
  forget(tenantNo: number, id: string): void {
    this.users.delete(keyOf(tenantNo, id));
  }

  byNews(): UsersByNews {
    const all: UsersByNews = { users: [], streakUsers: [], paidUsers: [], unchangedUsers: [] };
    for (const { tenantNo, id, packed, whole, streaks, points } of this.users.values()) {
      const user: PackedUser = { tenantNo, id, packed };
      // A total of 0 is not kept: it cannot be laid over the others.
      if (whole || (points !== null && Object.values(points).includes(0))) all.users.push(user);
      else if (streaks) all.streakUsers.push({ ...user, points: points ?? {} });
      else if (points !== null) all.paidUsers.push({ ...user, points });
      else all.unchangedUsers.push(user);
    }
    return all;
  }
}

/** Users who differ only by what Postgres cannot hold are one there. */
const keyOf = (tenantNo: number, id: string): string => `${tenantNo}:${storableText(id)}`;

import type { PackedUser, PaidUser } from '../../postgres/persist/users.ts';
import { storableText } from '../../postgres/storable-json.ts';
import type { HappenedRecord } from '../../packed/record.ts';
import { KIND, kindField, RECORD, RECORDED_POINTS } from '../../packed/record-fields.ts';
import { isPackedState } from '../../packed/unpack-state.ts';
import { UnreadableEntry } from './about-data.ts';

/** The last state of each touched user, grouped by which columns must be written. */
export interface UsersByNews {
  /** All columns: new users, users whose attributes or names changed, and users whose changes are unknown. */
  users: PackedUser[];
  /** Users whose streaks or zone changed: the columns that the sweep uses, and changed points. */
  streakUsers: PaidUser[];
  /** Users of whom only points changed. */
  paidUsers: PaidUser[];
  /** The others: only the state. */
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

/** Collects the users of consecutive outbox entries. Only a user's last state counts, together with all changes. */
export class TouchedUsers {
  private readonly users = new Map<string, TouchedUser>();
  /** By user: the changes in the records of the current entry. */
  private noted = new Map<string, News>();

  beginEntry(): void {
    if (this.noted.size > 0) this.noted = new Map();
  }

  /** Notes a record of the entry. Call it before the entry's states. */
  note(record: HappenedRecord): void {
    const kind = record[kindField];
    const userId = record[RECORD.userId];
    let news = this.noted.get(userId);
    if (news === undefined) this.noted.set(userId, (news = { whole: false, streaks: false, points: null }));
    if (kind === KIND.user || kind === KIND.completion || kind === KIND.reversal) news.whole = true;
    if (record[RECORD.isNew] !== undefined || record[RECORD.changed] !== undefined) news.whole = true;
    // The clock and administrators change only streaks of existing users; an event says whether it did.
    if (kind === KIND.streaks || record[RECORD.due] !== undefined) news.streaks = true;
    const points = record[RECORD.points];
    if (points === undefined) return;
    news.points ??= {};
    for (const each of points) news.points[each[RECORDED_POINTS.system]] = each[RECORDED_POINTS.after];
  }

  /** Notes a record whose changes are unknown, so that all columns are written. */
  noteWhole(userId: string): void {
    this.noted.set(userId, { whole: true, streaks: true, points: null });
  }

  /** Adds a user's state after the entry. Throws UnreadableEntry if it is not a packed state. */
  state(tenantNo: number, id: string, packed: Buffer): void {
    if (!isPackedState(packed)) throw new UnreadableEntry('invalid user state');
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

  forget(tenantNo: number, id: string): void {
    this.users.delete(keyOf(tenantNo, id));
  }

  byNews(): UsersByNews {
    const all: UsersByNews = { users: [], streakUsers: [], paidUsers: [], unchangedUsers: [] };
    for (const user of this.users.values()) {
      const { whole, streaks, points } = user;
      // A total of 0 is not stored, so it cannot be merged into the others.
      if (whole || (points !== null && Object.values(points).includes(0))) all.users.push(user);
      else if (streaks) all.streakUsers.push({ ...user, points: points ?? {} });
      else if (points !== null) all.paidUsers.push({ ...user, points });
      else all.unchangedUsers.push(user);
    }
    return all;
  }
}

/** Users whose IDs differ only in characters that Postgres cannot store are the same row. */
const keyOf = (tenantNo: number, id: string): string => `${tenantNo}:${storableText(id)}`;

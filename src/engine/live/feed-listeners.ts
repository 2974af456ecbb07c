import { LIVE_TYPES, type LiveType } from '../../domain/live.ts';
import { MOST_LISTENING_USERS, type LiveListeners } from '../../redis/live-streams.ts';
import type { LiveListener } from './live-listener.ts';

/** The listeners of a tenant, found by what concerns them. */
export class FeedListeners {
  private readonly every = new Set<LiveListener>();
  /** Those of admin keys. */
  private readonly admins = new Set<LiveListener>();
  private readonly users = new Map<string, Set<LiveListener>>();
  private readonly boards = new Map<string, Set<LiveListener>>();
  /** How many want each type. */
  private readonly types = new Map<LiveType, number>();
  readonly ofEvents = new Set<LiveListener>();
  /** Those whose places are all to be compared with what was reported. */
  readonly comparing = new Set<LiveListener>();
  /** Those who have joined with changes of boards from before. */
  readonly late = new Set<LiveListener>();

  get all(): ReadonlySet<LiveListener> {
    return this.every;
  }

  get isEmpty(): boolean {
    return this.every.size === 0;
  }

  /** Whether somebody wants what happens to any user. */
  get wantsAll(): boolean {
    return this.admins.size > 0;
  }

  get followPlaces(): boolean {
    return this.boards.size > 0;
  }

  get followBoards(): boolean {
    return this.followPlaces || this.wantsAll;
  }

  /** For whom they listen. */
  get whom(): Pick<LiveListeners, 'users' | 'ranks'> {
    const users = new Set(this.users.keys());
    for (const { grant } of this.admins) {
      if (grant.userId === null) return { users: null, ranks: true };
      users.add(grant.userId);
    }
    return { users: users.size > MOST_LISTENING_USERS ? null : [...users], ranks: this.followBoards };
  }

  /** Whether somebody wants notifications of a type. */
  wantType(type: LiveType): boolean {
    return this.types.has(type);
  }

  /** Those besides admin keys to whom a board may be reported. */
  ofBoard(boardId: string): ReadonlySet<LiveListener> | undefined {
    return this.boards.get(boardId);
  }

  get ofAdmins(): ReadonlySet<LiveListener> {
    return this.admins;
  }

  ofUser(userId: string): ReadonlySet<LiveListener> | undefined {
    return this.users.get(userId);
  }

  /** Whom a notification about a user may concern; null: one about nobody, which may concern everybody. */
  *of(userId: string | null): Generator<LiveListener> {
    if (userId === null) yield* this.every;
    else {
      yield* this.admins;
      yield* this.users.get(userId) ?? [];
    }
  }

  add(listener: LiveListener): void {
    const { kind, userId, boardIds } = listener.grant;
    this.every.add(listener);
    for (const type of LIVE_TYPES) if (listener.wantsType(type)) this.types.set(type, (this.types.get(type) ?? 0) + 1);
    if (listener.earlier !== null) this.late.add(listener);
    if (kind === 'admin') {
      this.admins.add(listener);
      if (listener.wantsType('event')) this.ofEvents.add(listener);
      return;
    }
    addTo(this.users, userId!, listener);
    for (const boardId of boardIds) addTo(this.boards, boardId, listener);
    if (listener.followsPlaces) this.comparing.add(listener);
  }

  delete(listener: LiveListener): void {
    const { userId, boardIds } = listener.grant;
    if (!this.every.delete(listener)) return;
    for (const type of LIVE_TYPES) if (listener.wantsType(type)) this.wantLess(type);
    this.admins.delete(listener);
    this.ofEvents.delete(listener);
    this.comparing.delete(listener);
    this.late.delete(listener);
    if (userId !== null) removeFrom(this.users, userId, listener);
    for (const boardId of boardIds) removeFrom(this.boards, boardId, listener);
  }

  private wantLess(type: LiveType): void {
    const count = this.types.get(type)! - 1;
    if (count === 0) this.types.delete(type);
    else this.types.set(type, count);
  }
}

function addTo(sets: Map<string, Set<LiveListener>>, name: string, listener: LiveListener): void {
  const set = sets.get(name);
  if (set === undefined) sets.set(name, new Set([listener]));
  else set.add(listener);
}

function removeFrom(sets: Map<string, Set<LiveListener>>, name: string, listener: LiveListener): void {
  const set = sets.get(name);
  set?.delete(listener);
  if (set?.size === 0) sets.delete(name);
}

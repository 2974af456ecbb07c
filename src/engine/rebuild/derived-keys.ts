import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { Leaderboard } from '../../domain/catalog.ts';
import { decimalText } from '../../domain/decimal.ts';
import { floorOf } from '../../domain/leaderboard.ts';
import { loadCatalog } from '../../postgres/catalog.ts';
import type { WaitingEvent } from '../../postgres/corrections/quarantine.ts';
import type { UsedKey } from '../../postgres/used-keys.ts';
import { clearedRuns, type StoredUser } from '../../postgres/users/stored-states.ts';
import {
  boardGroupsKey,
  boardKey,
  countersKey,
  idempotencyKey,
  pointsKey,
  teamsKey,
  type TenantPart,
} from '../../redis/keys.ts';
import { knownPart } from '../../redis/parts.ts';
import { fieldOfDigest, fieldOfGeneration, wideBucket } from '../../redis/idempotency.ts';
import { totalFields } from '../../redis/lua-library.ts';
import { COUNTER, completionsField, TEAM_SUM } from '../../packed/call-fields.ts';
import { QUARANTINED } from '../../packed/guard-fields.ts';
import { hasPlace } from '../../rules/hiding.ts';
import { timedMemberOf } from '../../rules/leaderboards.ts';
import { allMoves } from '../../rules/teams.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { newUser, type User } from '../../rules/user.ts';
import { type LeagueRule, ruleOf } from '../../rules/leagues.ts';
import { idempotencyDigest, timeOf } from '../ids.ts';

/*
The keys that Laurel derives from Postgres. A rebuild writes them and `verify` compares them.

  key                                  from
  user                                 users.state, byte for byte
  sorted set of a board, run, group    users.state: scores above the board's floor of users who are not hidden, of boards that are not deleted;
                                       not of runs whose final
                                       standings are in board_finals alone
  set of the groups of a run           the same, of boards with a breakdown
  hash of the teams of a run           users.state: stays of users who are not hidden, added up by team, of boards with teams
  counters: users                      users of the part, counted
  counters: completions                users.state: completions, counted by achievement
  counts of a points system            users.state: totals above 0, counted by total and range (`totalFields`)
  counters: generation of new users    users.state: the youngest of the part
  buckets of idempotency keys          used_keys, and quarantine.idempotency_key, with the event's ID and the user's
                                       generation;
                                       and the same of events that wait in dead letters
  compact form of idempotency keys     the same, of events before key_ageing.before_ms
  events in quarantine                 quarantine: those that wait
  IDs that stand for other users       user_merges
  progress of batches of events        outbox_cursors.batch_progress
  position of the outbox               outbox_cursors.stream_id

Only Redis holds the outbox beyond the cursor and the batches of events that wait. A rebuild keeps both.
*/

export interface Place {
  key: string;
  member: string;
  score: string;
  /** The set that lists the groups of the run, and the group; null if the board has no groups. */
  listedIn: { key: string; group: string } | null;
}

export interface BoardSets {
  /** Whether users are ranked in groups. */
  grouped: boolean;
  /** Whether teams are ranked. */
  teams: boolean;
  /** Whether equal scores are ordered by time. */
  timed: boolean;
  /** Whether secondary scores come before the time. */
  hasSecondary: boolean;
  /** The floor of scores. */
  floor: number;
  /** First days of the runs that Redis no longer holds. */
  cleared: ReadonlySet<number>;
  /** Which of two scores is better. */
  ranking: Pick<Leaderboard, 'order'>;
  ofStreaks: boolean;
  /** `null`: there are no leagues. */
  league: LeagueRule | null;
  /** When the leaderboard was last changed. */
  updatedMs: number;
}

/** A tenant's boards by number. */
export type Boards = ReadonlyMap<number, BoardSets>;

async function boardsOf(pool: Pool, tenantNo: number): Promise<Boards> {
  const [catalog, cleared] = await Promise.all([loadCatalog(pool, tenantNo), clearedRuns(pool, tenantNo)]);
  return new Map(
    catalog?.leaderboards.map((board) => [
      board.no,
      {
        grouped: board.breakdownAttributes.length > 0,
        teams: board.teamAttributeId !== null,
        timed: board.ties === 'first',
        hasSecondary: board.secondaryAttributeId !== null,
        floor: floorOf(board),
        cleared: cleared.get(board.no) ?? new Set(),
        ranking: board,
        ofStreaks: board.rankBy === 'streak',
        league: board.leagues === null ? null : ruleOf(board.leagues),
        updatedMs: board.updated,
      },
    ]),
  );
}

const SEEN_MS = 1_000;

/** The boards of all tenants, cached for a second. */
export function createBoardsOfTenants(pool: Pool) {
  const seen = new Map<number, { boards: Promise<Boards>; atMs: number }>();

  function of(tenantNo: number): Promise<Boards> {
    const nowMs = performance.now();
    const last = seen.get(tenantNo);
    if (last !== undefined && nowMs - last.atMs < SEEN_MS) return last.boards;
    const boards = boardsOf(pool, tenantNo);
    seen.set(tenantNo, { boards, atMs: nowMs });
    return boards;
  }

  return { of };
}

export type BoardsOfTenants = ReturnType<typeof createBoardsOfTenants>;

/** The sorted sets that a user is a member of. */
export function placesOf(part: TenantPart, userId: string, user: User, boards: Boards): Place[] {
  const places: Place[] = [];
  // A hidden user has scores, but no place.
  if (user.hidden !== 0) return places;
  for (const score of user.scores) {
    const { board: boardNo, runDay, group } = score;
    const board = boards.get(boardNo);
    if (board === undefined || board.cleared.has(runDay) || !hasPlace(score, board)) continue;
    places.push({
      key: boardKey(part, { boardNo, runDay, group }),
      member: board.timed ? timedMemberOf(userId, user, score, board.hasSecondary) : userId,
      score: decimalText(score),
      listedIn: board.grouped ? { key: boardGroupsKey(part, { boardNo, runDay }), group } : null,
    });
  }
  return places;
}

/** What teams earned: the fields of each hash (`TEAM_SUM`), by key. */
export class TeamSums {
  readonly hashes = new Map<string, Map<string, bigint>>();

  /** Adds what a user of a part earned for teams. */
  add(part: TenantPart, user: User, boards: Boards): void {
    if (user.hidden !== 0) return;
    const runs = new Map(user.stays.map((stay) => [`${stay.board}:${stay.runDay}`, stay]));
    for (const run of runs.values()) {
      const board = boards.get(run.board);
      if (board?.teams !== true || board.cleared.has(run.runDay)) continue;
      for (const { team, ...earned } of allMoves(user, run, 1) ?? [])
        for (const name of ['whole', 'micros', 'members'] as const)
          this.addTo(teamsKey(part, { boardNo: run.board, runDay: run.runDay }), TEAM_SUM[name] + team, earned[name]);
    }
  }

  private addTo(key: string, field: string, earned: number): void {
    let sums = this.hashes.get(key);
    if (sums === undefined) this.hashes.set(key, (sums = new Map()));
    const sum = (sums.get(field) ?? 0n) + BigInt(earned);
    if (sum === 0n) sums.delete(field);
    else sums.set(field, sum);
  }
}

/** The fields of the part's counters that count a user. */
export const countersOf = ({ completions }: User): string[] => [
  COUNTER.users,
  ...Array.from(completions.keys(), completionsField),
];

/** The fields of each points system's counts that count a user, by the key of the hash. */
export const totalsOf = (part: TenantPart, { points }: User): [key: string, fields: string[]][] =>
  Array.from(points, ([systemNo, total]) => [pointsKey(part, systemNo), totalFields(total)]);

/** A stored user's state; `null` if it cannot be read. */
export function readState({ state }: Pick<StoredUser, 'state'>): User | null {
  try {
    return decodeUser(state);
  } catch {
    return null;
  }
}

/** As above; an unreadable state counts as empty, so that the other users are handled. */
export const stateOf = (user: Pick<StoredUser, 'state'>): User =>
  readState(user) ?? newUser(0, { freezes: 0, generation: null });

/** Where Redis stores a used idempotency key (`key`: its wide bucket), and the text of its use. `generation`: its user's. */
export function bucketOf(
  redis: Redis,
  used: UsedKey,
  generation: number | undefined,
): { tenantNo: number; key: string; field: string; value: string } {
  const { tenantNo, userId, metricNo, key, eventId } = used;
  const { bucket, field } = idempotencyDigest(userId, metricNo, key);
  return {
    tenantNo,
    key: idempotencyKey(knownPart(redis, tenantNo, userId), bucket),
    field: fieldOfGeneration(field, generation),
    value: String(timeOf(eventId)),
  };
}

/** A used key as text, independent of the user's generation and of the form of its bucket. */
export const useText = ({ key, field, value }: { key: string; field: string; value: string }): string =>
  `${wideBucket(key)} ${fieldOfDigest(field)} ${value}`;

/** The generations (`src/redis/idempotency.ts`) of the users who are not in the first one. */
export class Generations {
  private readonly known = new Map<string, number>();
  /** The highest generation in a part, by the key of its counters; absent if all its users are in the first one. */
  readonly youngest = new Map<string, number>();

  note(part: TenantPart, id: string, { generation }: User): void {
    if (generation === null) return;
    this.known.set(`${part.tenantNo}:${id}`, generation);
    const counters = countersKey(part);
    this.youngest.set(counters, Math.max(generation, this.youngest.get(counters) ?? 0));
  }

  of({ tenantNo, userId }: UsedKey): number | undefined {
    return this.known.get(`${tenantNo}:${userId}`);
  }
}

/** The fields of the hash of a part's events in quarantine. */
export function quarantineOf(events: readonly WaitingEvent[]): Map<string, string> {
  const hash = new Map<string, string>();
  for (const { userId, id, guard } of events) hash.set(userId, `${hash.get(userId) ?? ''}${id}${guard}`);
  if (events.length > 0) hash.set(QUARANTINED.count, String(events.length));
  return hash;
}

/** Differences between tables of Postgres about leagues: tiers, cohorts and moves. Redis has none of it. */
import { dateOf, DAY_MS } from '../../domain/periods.ts';
import { hasPlace } from '../../rules/hiding.ts';
import { scoreIn } from '../../rules/leaderboards.ts';
import type { User } from '../../rules/user.ts';
import {
  closedSeats,
  type ClosedSeat,
  type CohortPosition,
  cohortsFrom,
  openSeats,
  type Seat,
  type StoredCohort,
  unmovedTiers,
} from '../../postgres/boards/league-checks.ts';
import { type CohortMember, scoredMembers } from '../../postgres/boards/league-closings.ts';
import { storedStates, type StoredUser } from '../../postgres/users/stored-states.ts';
import { userKey } from '../../redis/keys.ts';
import { knownPart } from '../../redis/parts.ts';
import { moveOf, moveOfInactive, tierAfter, tierIn } from '../../rules/leagues.ts';
import { COHORT_USERS } from '../../domain/leagues.ts';
import { comparePlaces } from '../leaderboards/standings.ts';
import { type BoardSets, readState } from './derived-keys.ts';
import { ONLY_POSTGRES } from './suspect-rewards.ts';
import type { Sides, Suspect } from './confirmation.ts';
import { groupedBy } from '../../grouped.ts';

/** The first word of the key of a cohort. */
export const COHORT = 'league_cohorts';

/** A row that contradicts others. `text`: the stored and the expected value. */
interface Wrong {
  key: string;
  part: string;
  text: string;
}

/** Users of a tenant whose tiers are not those of their newest moves, or whose cohorts do not fit their scores. */
export async function suspectLeagueUsers(sides: Sides, users: readonly StoredUser[]): Promise<Suspect[]> {
  const suspects: Suspect[] = [];
  for (const [user, wrong] of await wrongUsers(sides, users))
    suspects.push(
      suspect(wrong, async () => {
        const { tenantNo, id } = user;
        const state = (await storedStates(sides.pool, tenantNo, [id])).get(id);
        const now = state === undefined ? [] : await wrongUsers(sides, [{ tenantNo, id, state }]);
        return now.map(([, each]) => each);
      }),
    );
  return suspects;
}

/** A suspect that is confirmed if `again` still finds it. */
const suspect = ({ key, part }: Wrong, again: () => Promise<readonly Wrong[]>): Suspect => ({
  key,
  part,
  redis: async () => ONLY_POSTGRES,
  postgres: async () =>
    (await again()).find((wrong) => wrong.key === key && wrong.part === part)?.text ?? ONLY_POSTGRES,
});

async function wrongUsers(sides: Sides, users: readonly StoredUser[]): Promise<[StoredUser, Wrong][]> {
  const byName = new Map(users.map((user) => [nameOf(user.tenantNo, user.id), user]));
  const states = new Map<StoredUser, User | null>(users.map((user) => [user, readState(user)]));
  const keyOf = ({ tenantNo, id }: StoredUser): string => userKey(knownPart(sides.redis, tenantNo, id), id);
  const mismatches: [StoredUser, Wrong][] = [];
  for (const { tenantNo, userId, boardNo, held, moved } of await unmovedTiers(sides.pool, users)) {
    const user = byName.get(nameOf(tenantNo, userId))!;
    // An import sets the first tier of a user, without a move.
    if (moved === null && typeof states.get(user)?.importedMs === 'number') continue;
    const text = `tier ${shownTier(held)} stored, ${shownTier(moved)} after the newest move`;
    mismatches.push([user, { key: keyOf(user), part: `league tier ${boardNo}`, text }]);
  }
  for (const seat of await openSeats(sides.pool, users)) {
    const user = byName.get(nameOf(seat.tenantNo, seat.userId))!;
    const board = (await sides.boards.of(seat.tenantNo)).get(seat.boardNo);
    const state = states.get(user);
    const text = board === undefined || !state ? null : wrongSeat(seat, board, state);
    const part = `league cohort ${seat.boardNo} ${dateOf(seat.runDay)}`;
    if (text !== null) mismatches.push([user, { key: keyOf(user), part, text }]);
  }
  return mismatches;
}

const nameOf = (tenantNo: number, id: string): string => `${tenantNo} ${id}`;
const shownTier = (tier: number | null): number => (tier ?? 0) + 1;

/** Whether the leaderboard is the same since before a time, also for users whose local day is ahead of UTC. */
const isSameSince = ({ updatedMs }: BoardSets, atMs: number): boolean => updatedMs < atMs - DAY_MS;

/** The fault of a user's seat in the open run; `null` if it has none. */
function wrongSeat(seat: Seat, board: BoardSets, user: User): string | null {
  if (board.league === null) return null;
  const { cohort, cohortTier, tier, runDay, boardNo } = seat;
  // Scores that no change of the user made in the run give no cohort.
  const isCertain =
    isSameSince(board, runDay * DAY_MS) && !seat.isChanged && !((user.importedMs ?? 0) >= (runDay - 1) * DAY_MS);
  if (!seat.isMember) {
    const score = scoreIn(user, { board: boardNo, runDay });
    // A hidden user gets a cohort when shown again.
    const isShown = user.hidden === 0;
    const isExpected = isCertain && isShown && !board.ofStreaks && score !== undefined && hasPlace(score, board);
    return isExpected ? 'no cohort stored, one expected for the score' : null;
  }
  if (cohort === null) return 'no cohort stored, one expected in the open run';
  if (!seat.fits) return `cohort ${cohort} stored, one of the same run, part and group expected`;
  const expected = tierIn(board.league, tier);
  if (isCertain && tierIn(board.league, cohortTier!) !== expected)
    return `cohort ${cohort} of tier ${shownTier(cohortTier)} stored, one of tier ${shownTier(expected)} expected`;
  return null;
}

const COHORTS_A_PAGE = 100;

/** Compares the next cohorts with their members, and in closed runs the moves with the final scores. `next`: `null` after the last one. */
export async function suspectCohorts(
  sides: Sides,
  tenants: readonly number[] | null,
  after: CohortPosition | null,
): Promise<{ suspects: Suspect[]; next: CohortPosition | null }> {
  const cohorts = await cohortsFrom(sides.pool, tenants, after, COHORTS_A_PAGE);
  const suspects = (await wrongCohorts(sides, cohorts)).map(([cohort, wrong]) =>
    suspect(wrong, async () => {
      const { tenantNo, boardNo, runDay, id } = cohort;
      const before = { tenantNo, boardNo, runDay, id: id - 1 };
      const now = await cohortsFrom(sides.pool, [tenantNo], before, 1);
      return (await wrongCohorts(sides, now)).map(([, each]) => each);
    }),
  );
  const last = cohorts.length < COHORTS_A_PAGE ? undefined : cohorts.at(-1);
  return { suspects, next: last === undefined ? null : positionOf(last) };
}

const positionOf = ({ tenantNo, boardNo, runDay, id }: CohortPosition): CohortPosition => ({
  tenantNo,
  boardNo,
  runDay,
  id,
});

async function wrongCohorts(sides: Sides, cohorts: readonly StoredCohort[]): Promise<[StoredCohort, Wrong][]> {
  const mismatches: [StoredCohort, Wrong][] = [];
  for (const [runId, some] of byClosedRun(cohorts)) {
    const ids = some.map(({ id }) => id);
    const [seats, scores] =
      runId === null
        ? [[], []]
        : await Promise.all([
            closedSeats(sides.pool, ids),
            scoredMembers(sides.pool, { tenantNo: some[0]!.tenantNo, runId }, ids),
          ]);
    for (const cohort of some) {
      const board = (await sides.boards.of(cohort.tenantNo)).get(cohort.boardNo);
      if (board === undefined) continue;
      const key = `${COHORT} ${cohort.tenantNo} ${cohort.id}`;
      const size = wrongSize(cohort, board);
      if (size !== null) mismatches.push([cohort, { key, part: '', text: size }]);
      const own = <T extends { cohort: number }>(all: readonly T[]): T[] =>
        all.filter((each) => each.cohort === cohort.id);
      for (const { userId, text } of wrongMoves(cohort, board, own(seats), own(scores)))
        mismatches.push([cohort, { key, part: userId, text }]);
    }
  }
  return mismatches;
}

/** Cohorts by the ID of their closed run; `null` for those of runs that go on. */
const byClosedRun = (cohorts: readonly StoredCohort[]): Map<number | null, StoredCohort[]> =>
  groupedBy(cohorts, ({ closed }) => closed?.runId ?? null);

/** A cohort counts users who were deleted or merged since, so it may have fewer rows than members. */
function wrongSize(cohort: StoredCohort, board: BoardSets): string | null {
  const { members, rows, strangers, runDay } = cohort;
  const isSame = board.league !== null && isSameSince(board, runDay * DAY_MS);
  const most = isSame ? board.league!.cohortUsers : COHORT_USERS.most;
  if (strangers > 0) return `${strangers} of ${rows} users are of another run, part or group, 0 expected`;
  if (members < rows) return `${members} users counted, ${rows} stored`;
  return members > most ? `${members} users counted, at most ${most} expected` : null;
}

/**
 * How users of a closed cohort should have moved by their final scores, counted user by user, if it differs. Cohorts of which a user is
 * gone are not compared. If the leaderboard was changed since, only the ranks of users who moved are.
 */
function wrongMoves(
  { tier: stored, members, rows, closed }: StoredCohort,
  board: BoardSets,
  seats: readonly ClosedSeat[],
  scores: readonly CohortMember[],
): { userId: string; text: string }[] {
  if (closed === null || board.league === null || rows !== members || seats.some(({ isMerged }) => isMerged)) return [];
  const rule = board.league;
  const isSame = isSameSince(board, closed.finalMs);
  const tier = tierIn(rule, stored);
  return seats.flatMap(({ userId, moved }) => {
    const own = scores.find((score) => score.userId === userId);
    const rank = own === undefined ? null : 1 + scores.filter((other) => isBetter(board, other, own)).length;
    if (!isSame) {
      if (moved === null || moved.rank === rank) return [];
      return [{ userId, text: `rank ${moved.rank ?? 'none'} stored, ${rank ?? 'none'} expected` }];
    }
    const move = rank === null ? moveOfInactive(rule, tier) : moveOf(rule, { tier, rank, users: scores.length });
    const expected = move === 'stay' ? null : { before: tier, after: tierAfter(rule, tier, move), rank };
    const [has, wants] = [moveText(moved), moveText(expected)];
    return has === wants ? [] : [{ userId, text: `${has} stored, ${wants} expected` }];
  });
}

const moveText = (moved: ClosedSeat['moved']): string =>
  moved === null ? 'no move' : `from tier ${moved.before + 1} to ${moved.after + 1}, rank ${moved.rank ?? 'none'}`;

/** Whether a final score ranks before another one. */
const isBetter = ({ ranking, timed }: BoardSets, a: CohortMember, b: CohortMember): boolean =>
  (timed || a.score !== b.score) && comparePlaces(ranking, a, b) < 0;

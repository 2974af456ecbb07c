import type { Catalog, Leaderboard } from '../../src/domain/catalog.ts';
import { inHours, runOf, type LocalDate, type Run } from './calendar.ts';
import { sum, wire } from './decimals.ts';
import type { Metadata, ModelUser } from './user.ts';
import { addTo } from '../../src/grouped.ts';

export interface Place {
  userId: string;
  rank: number;
  value: number;
  secondary: number | null;
  metadata: Metadata | null;
}

/** Whether only scores above 0 are on a leaderboard. Otherwise everybody with an event in the run is. */
const isUsual = ({ aggregate, order, ties }: Leaderboard): boolean =>
  aggregate === null && order === null && ties === null;

/** What a user earned inside a run, except on leaderboards of streaks. */
function earnedOn(board: Leaderboard, user: ModelUser, run: Run): Earned[] {
  const inside = (day: LocalDate, time: string): boolean =>
    day >= run.start && (run.end === null || day <= run.end) && inHours(board, time);
  return board.rankBy === 'metric'
    ? user.events.filter((event) => event.metricId === board.metricId && inside(event.date, event.time))
    : user.awards
        .filter((award) => award.systemId === board.pointsSystemId && inside(award.date, award.time))
        .map(({ awarded, team }) => ({ amount: BigInt(awarded) * 1_000_000n, team, no: 0, attributes: {} }));
}

interface Earned {
  amount: bigint;
  team: string;
  no: number;
  attributes: Readonly<Record<string, string>>;
}

/** How good an event's secondary score is; -Infinity without a number. */
function secondaryOf({ secondaryAttributeId, secondaryOrder }: Leaderboard, { attributes }: Earned): number {
  if (secondaryAttributeId === null) return 0;
  const moves = attributes['moves'] ?? 'none';
  if (moves !== 'many' && moves !== 'none') return secondaryOrder === 'descending' ? Number(moves) : 0 - Number(moves);
  return -Infinity;
}

/** A user's score in a run; null for none, on a leaderboard on which 0 is a score. */
export function scoreOf(board: Leaderboard, user: ModelUser, run: Run): bigint | null {
  if (board.rankBy === 'streak') return BigInt(user.shown.get(board.id) ?? 0) * 1_000_000n;
  const earned = earnedOn(board, user, run).map(({ amount }) => amount);
  if (earned.length === 0) return noScore(board);
  const sorted = earned.toSorted((a, b) => (a < b ? -1 : Number(a > b)));
  return { sum: sum(earned), max: sorted.at(-1)!, min: sorted[0]!, last: earned.at(-1)! }[board.aggregate ?? 'sum'];
}

function secondaryShown(board: Leaderboard, event: Earned | undefined): number | null {
  const good = board.secondaryAttributeId === null || event === undefined ? -Infinity : secondaryOf(board, event);
  if (good === -Infinity) return null;
  return board.secondaryOrder === 'descending' ? good : 0 - good;
}

/** The event at which a user reached the score, on leaderboards on which this ranks equal scores. */
function deciding(board: Leaderboard, user: ModelUser, run: Run): Earned | undefined {
  if (board.ties === null) return undefined;
  const earned = earnedOn(board, user, run);
  const score = scoreOf(board, user, run);
  const isBest = board.aggregate === 'max' || board.aggregate === 'min';
  if (isBest) {
    const equal = earned.filter(({ amount }) => amount === score);
    const best = Math.max(...equal.map((event) => secondaryOf(board, event)));
    return equal.find((event) => secondaryOf(board, event) === best);
  }
  const counts = board.aggregate === 'last' ? earned : earned.filter(({ amount }) => amount !== 0n);
  return counts.at(-1) ?? earned[0];
}

/** The number of that event, else 0. */
export const reachedAt = (board: Leaderboard, user: ModelUser, run: Run): number => deciding(board, user, run)?.no ?? 0;

const MOST_STAYS = 8;

/** What a user earned for each team in a run. After eight stays in teams, the last one goes on. */
function earnedForTeams(board: Leaderboard, user: ModelUser, run: Run): Map<string, bigint> {
  const teams = new Map<string, bigint>();
  let [stay, stays] = ['', 0];
  for (const { amount, team } of earnedOn(board, user, run)) {
    if (amount === 0n) continue;
    if (stays === 0 || (team !== stay && stays < MOST_STAYS)) [stay, stays] = [team, stays + 1];
    teams.set(stay, (teams.get(stay) ?? 0n) + amount);
  }
  return teams;
}

/** The teams in a leaderboard's run. */
export function teamsOn({ users }: { users: Map<string, ModelUser> }, board: Leaderboard, run: Run) {
  const all = new Map<string, bigint[]>();
  for (const user of users.values())
    for (const [team, amount] of earnedForTeams(board, user, run))
      if (team !== '' && amount !== 0n) addTo(all, team, amount);
  const teams = Array.from(all, ([team, amounts]) => ({
    team,
    members: amounts.length,
    score: board.teamsBy === 'mean' ? sum(amounts) / BigInt(amounts.length) : sum(amounts),
  })).filter(({ score, members }) => score > 0n && members >= board.teamMinMembers!);
  return teams
    .map(({ score, ...team }) => ({
      ...team,
      rank: 1 + teams.filter((other) => other.score > score).length,
      value: wire(score),
    }))
    .toSorted((a, b) => a.rank - b.rank || (a.team < b.team ? -1 : 1));
}

/** The score of a user who has none. */
export const noScore = (board: Leaderboard): bigint | null => (isUsual(board) ? 0n : null);

/** The user's values of the attributes that split a leaderboard, as last evaluated in a run; null if one was missing. */
export function groupOf(
  catalog: Catalog,
  board: Leaderboard,
  { user, run }: { user: ModelUser; run: Run },
): Record<string, string> | null {
  const look = user.looks.findLast(
    ({ date, time, on }) =>
      date >= run.start &&
      (run.end === null || date <= run.end) &&
      (on === 'all' ||
        (on === 'streaks' ? board.rankBy === 'streak' : on.systemId === board.pointsSystemId && inHours(board, time))),
  );
  const group: Record<string, string> = {};
  for (const id of board.breakdownAttributes) {
    const { key } = catalog.attributes.find((attribute) => attribute.id === id)!;
    const value = look?.attributes[key];
    if (value === undefined) return null;
    group[key] = value;
  }
  return group;
}

/** Leaderboards show the length of a streak once it is evaluated on one of their days. Returns those that did not before. */
export function showLength(
  { leaderboards }: Catalog,
  user: ModelUser,
  { length, on }: { length: number; on: LocalDate },
): Leaderboard[] {
  const behind = leaderboards
    .filter((board) => board.rankBy === 'streak' && board.status === 'active' && runOf(board, on) !== null)
    .filter(({ id }) => (user.shown.get(id) ?? 0) !== length);
  for (const { id } of behind) user.shown.set(id, length);
  return behind;
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Everyone in a leaderboard's run, best first. */
export function standings(
  { catalog, users }: { catalog: Catalog; users: Map<string, ModelUser> },
  board: Leaderboard,
  { run, group }: { run: Run; group: Record<string, string> },
): Place[] {
  const members = [...users.values()].filter((user) => same(groupOf(catalog, board, { user, run }), group));
  return rankedAmong(board, { run, users: members }).filter(({ rank }) => rank <= (board.maxParticipants ?? Infinity));
}

const metadataOf = ({ id, keepsMetadata }: Leaderboard, { metadata }: ModelUser, run: Run): Metadata | null =>
  keepsMetadata === true ? (metadata.get(`${id} ${run.start}`) ?? null) : null;

/** Those of some users who have a score in a leaderboard's run, best first, ranked among themselves. */
export function rankedAmong(board: Leaderboard, { run, users }: { run: Run; users: readonly ModelUser[] }): Place[] {
  const scored = users
    .map((user) => ({
      userId: user.id,
      metadata: metadataOf(board, user, run),
      score: scoreOf(board, user, run),
      at: deciding(board, user, run),
    }))
    .flatMap(({ score, ...of }) => (score === null || (isUsual(board) && score <= 0n) ? [] : [{ ...of, score }]));
  type Scored = (typeof scored)[number];
  const secondary = ({ at }: Scored): number => (at === undefined ? 0 : secondaryOf(board, at));
  const isBetter = (one: Scored, other: Scored): boolean => {
    if (one.score !== other.score) return one.score > other.score === (board.order !== 'ascending');
    if (secondary(one) !== secondary(other)) return secondary(one) > secondary(other);
    return (one.at?.no ?? 0) < (other.at?.no ?? 0);
  };
  return scored
    .map((own) => ({
      userId: own.userId,
      rank: 1 + scored.filter((other) => isBetter(other, own)).length,
      value: wire(own.score),
      secondary: secondaryShown(board, own.at),
      metadata: own.metadata,
    }))
    .sort((a, b) => a.rank - b.rank);
}

/** The last score on a full leaderboard, else 0; and whether it is full, if 0 may be a score. */
export function thresholdOf(board: Leaderboard, places: readonly Place[]): { threshold: number; full?: boolean } {
  const full = board.maxParticipants !== null && places.length >= board.maxParticipants;
  return { threshold: full ? places.at(-1)!.value : 0, ...(!isUsual(board) && { full }) };
}

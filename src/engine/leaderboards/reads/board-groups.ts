import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { Leaderboard } from '../../../domain/catalog.ts';
import { type AttributeFilter, groupName } from '../../../domain/user.ts';
import { AppError } from '../../../errors.ts';
import { repliesOf } from '../../../redis/commands.ts';
import { connectionOf } from '../../../redis/endpoints.ts';
import { boardGroupsKey, boardKey, type TenantPart } from '../../../redis/keys.ts';
import { tenantParts } from '../../../redis/parts.ts';
import { scoreIn } from '../../../rules/leaderboards.ts';
import type { User } from '../../../rules/user.ts';
import { parseAttributeFilter } from '../../attribute-filter.ts';
import { breakdownKeys, groupAttributes } from '../../responses/leaderboards.ts';
import { groupOfUser, type UserReads } from '../../users/user-reads.ts';
import { boardRunOf, type RequestedRuns, type RunOfBoard } from './requested-runs.ts';
import type { KeptRuns } from '../kept-runs.ts';
import type { BoardRun } from '../../../domain/runs.ts';

/** Groups of a board that one answer counts. */
const MAX_GROUPS = 1_000;

/** A group of a board with a breakdown: the values of its attributes, by key, and how many users have a score in it. */
interface CountedGroup {
  userAttributes: Record<string, string>;
  users: number;
}

interface GroupRequest extends RunOfBoard {
  userAttributes: Record<string, string> | undefined;
  /** The user whose group alone may be read; `null` allows all groups. */
  groupOf: string | null;
}

/** Reads the groups of leaderboards with a breakdown: one ranking for each combination of values. */
export function createBoardGroups(redis: Redis, users: UserReads, past: KeptRuns, runs: RequestedRuns) {
  /** The group to rank users in: '' without a breakdown; `null` for all; undefined if `groupOf` is in none. */
  async function groupAmong(
    compiled: CompiledCatalog,
    { board, run, userAttributes, groupOf }: GroupRequest,
  ): Promise<string | null | undefined> {
    if (board.breakdownAttributes.length === 0 || userAttributes !== undefined) {
      const pairs = Object.entries(userAttributes ?? {}).map(([name, value]) => `${name}:${value}`);
      const group = groupOfFilter(compiled, board, pairs);
      if (group !== '' && groupOf !== null) await requireGroup(compiled, { board, run }, group, groupOf);
      return group;
    }
    if (groupOf === null) return null;
    const state = await users.find(compiled.catalog.tenantNo, groupOf);
    if (state === null) return undefined;
    const scored = await scoredGroup(compiled, { board, run }, groupOf, state);
    return scored ?? groupOfUser(compiled, board, state) ?? undefined;
  }

  /**
   * The groups of a board with a breakdown in a run that is not final, those with most users first; none of a board without one.
   * Of a board with more than 1,000 groups, any 1,000 are counted. Errors as `rankings`.
   */
  async function groups(compiled: CompiledCatalog, key: string, runDate?: string): Promise<CountedGroup[]> {
    const { board } = runs.find(compiled, key);
    const boardRun = boardRunOf(compiled, { board, run: runs.run(board, runDate, null) });
    if (board.breakdownAttributes.length === 0) return [];
    const counts = new Map<string, number>();
    for (const part of tenantParts(redis, boardRun.tenantNo))
      for (const [group, members] of await groupsIn(part, boardRun))
        if (counts.has(group) || counts.size < MAX_GROUPS) counts.set(group, (counts.get(group) ?? 0) + members);
    return Array.from(counts, ([group, users]): CountedGroup => ({
      userAttributes: groupAttributes(compiled, board, group),
      users,
    }))
      .filter(({ users }) => users > 0)
      .toSorted((a, b) => b.users - a.users);
  }

  /** Some groups of a run, and how many users of a part have a score in each. */
  async function groupsIn(part: TenantPart, run: BoardRun): Promise<[group: string, users: number][]> {
    const connection = connectionOf(redis, part.shard);
    const groups = await someMembers(connection, boardGroupsKey(part, run), MAX_GROUPS);
    const pipeline = connection.pipeline();
    for (const group of groups) pipeline.zcard(boardKey(part, { ...run, group }));
    return (await repliesOf<number[]>(pipeline)).map((users, index) => [groups[index]!, users]);
  }

  /** Throws 403 unless the user belongs to the group, by the user's current attributes or by the user's score in the run. */
  async function requireGroup(
    compiled: CompiledCatalog,
    { board, run }: RunOfBoard,
    group: string,
    userId: string,
  ): Promise<void> {
    const state = await users.find(compiled.catalog.tenantNo, userId);
    if (state !== null) {
      if (groupOfUser(compiled, board, state) === group) return;
      if ((await scoredGroup(compiled, { board, run }, userId, state)) === group) return;
    }
    throw new AppError('forbidden', "userAttributes: an application key may only read its own user's group.");
  }

  /** The group of a user's score in a run; `null` for a user who has none, or who lacks a value of the breakdown. */
  async function scoredGroup(
    compiled: CompiledCatalog,
    at: RunOfBoard,
    userId: string,
    state: User,
  ): Promise<string | null> {
    const boardRun = boardRunOf(compiled, at);
    // In a final run, the group in which the user ended it, regardless of the state now.
    const final = runs.isOver(at.run) ? await past.groupOf(boardRun, userId) : null;
    return final ?? (scoreIn(state, { board: boardRun.boardNo, runDay: boardRun.runDay })?.group || null);
  }

  return { groupAmong, groups, requireGroup, scoredGroup };
}

export type BoardGroups = ReturnType<typeof createBoardGroups>;

/** The group that a `userAttributes` filter names: a value for exactly the breakdown attributes. Throws 422. */
export function groupOfFilter(
  compiled: CompiledCatalog,
  board: Leaderboard,
  userAttributes: AttributeFilter | undefined,
): string {
  const keys = breakdownKeys(compiled, board);
  const filter = parseAttributeFilter(userAttributes, compiled.userAttributes);
  if (keys.length === 0) {
    if (filter.length === 0) return '';
    throw new AppError('unprocessable', `userAttributes: the leaderboard '${board.key}' has no breakdown attributes.`);
  }
  const values = keys.map((key) => filter.find(({ attribute }) => attribute.key === key)?.value);
  if (filter.length !== keys.length || values.includes(undefined)) {
    throw new AppError(
      'unprocessable',
      `userAttributes must name a value of each breakdown attribute of the leaderboard, and no other: ${keys.join(', ')}.`,
    );
  }
  return groupName(values as string[]);
}

/** Up to `most` members of a set, without reading all of a large one. */
async function someMembers(redis: Redis, key: string, most: number): Promise<string[]> {
  const userIds = new Set<string>();
  let cursor = '0';
  do {
    const [next, members] = await redis.sscan(key, cursor, 'COUNT', most);
    for (const member of members) if (userIds.size < most) userIds.add(member);
    cursor = next;
  } while (cursor !== '0' && userIds.size < most);
  return [...userIds];
}
